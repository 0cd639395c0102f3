"""The only room that imports pyspark, kafka and jgo: session, jars, broker, cluster questions, the job interpreter."""
