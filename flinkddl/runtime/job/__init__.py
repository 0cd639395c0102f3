"""A job that runs: sources, steps, queries, restarts, and the supervisor over them."""
