"""Benchmarks: ratios measured in one run, never timed tests. ``python -m tests.bench NAME``."""
