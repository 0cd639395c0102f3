"""The only rooms that import pyspark, kafka and jgo: job, storage, broker, kafka, session, machine."""
