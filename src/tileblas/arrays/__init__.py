"""Arrays of any library: read on the way in (ingest, scalars), made on the way out (results)."""
