"""Whole jobs: real Kafka in, real Spark, real Kafka out."""
