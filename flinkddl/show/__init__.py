"""What a job is shown as: EXPLAIN, pictures, JSON, a printed PySpark program."""
