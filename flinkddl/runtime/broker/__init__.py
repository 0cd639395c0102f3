"""The development broker: a Kafka of one process."""
