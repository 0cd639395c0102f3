"""flinkddl: Flink SQL in, native Spark Structured Streaming out."""

__version__ = "0.1.0"


def load_ipython_extension(ipython: object) -> None:
    """``%load_ext flinkddl``: the magic ``%%flinksql``, and live results."""
    from importlib import import_module

    import_module("flinkddl.notebook").load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """``%unload_ext flinkddl``."""
    from importlib import import_module

    import_module("flinkddl.notebook").unload(ipython)
