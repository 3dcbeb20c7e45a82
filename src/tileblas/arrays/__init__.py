"""Arrays of any library: read on the way in (ingest, scalars, streams), made on the way out."""
