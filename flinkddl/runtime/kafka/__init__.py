"""What is asked of a Kafka cluster by the driver itself: topics, offsets, rights, single records."""
