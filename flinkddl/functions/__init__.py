"""The function catalogue: one row per function or operator, its typing rules and its Spark SQL text."""
