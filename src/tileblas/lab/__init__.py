"""The lab measures tileblas: timing, rivals, roofs, benchmarks and the demo. The library never imports it."""
