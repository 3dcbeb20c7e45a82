"""The lab measures tileblas: timing, rivals, roofs, benchmarks, demo. The library never uses it."""
