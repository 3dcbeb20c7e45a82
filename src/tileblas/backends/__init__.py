"""Where a Problem runs: cuda, interpret or cpu; and the dispatch that every public call goes through."""
