"""Plans to SparkJob: plain data that a runtime interprets and a printer writes as PySpark."""
