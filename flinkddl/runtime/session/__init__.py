"""The Spark session: local, of the caller or of a Connect server, and what is put into it."""
