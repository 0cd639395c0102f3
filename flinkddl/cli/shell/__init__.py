"""``flinkddl shell``: Flink's SQL client at the terminal, over Spark."""
