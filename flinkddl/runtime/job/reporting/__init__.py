"""What a job tells: rows with their kinds, the progress of its writes, and why it failed."""
