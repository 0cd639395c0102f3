"""From the start of a job to its end: what a run holds, a round of queries, and what follows a failure."""
