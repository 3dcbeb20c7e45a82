"""Tuned values as data, and the analytic model that chooses among them."""
