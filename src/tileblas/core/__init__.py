"""Pure core: dtypes, Specs, operands, and the pure functions check, canon and trivial."""
