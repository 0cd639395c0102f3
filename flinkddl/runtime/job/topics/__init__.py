"""The topics of a job: opening its reads, and what becomes of topics, partitions and offsets while it runs."""
