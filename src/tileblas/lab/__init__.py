"""The lab measures tileblas: timing, rivals, roofs, benchmarks, the demo. No library code uses it."""
