"""Java sources of the Spark functions and the built jar."""
