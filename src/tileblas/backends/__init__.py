"""Where a Problem runs (cuda, interpret, cpu), and the dispatch that every call goes through."""
