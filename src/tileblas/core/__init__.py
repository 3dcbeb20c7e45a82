"""Pure Python core: dtypes, operands, ingest, and the pure functions check, canon and trivial."""
