"""Compile, cache, load and launch: everything between a Launch and the device.

Importing it, or any module in it, imports neither CUDA nor Triton; the first use does.
"""
