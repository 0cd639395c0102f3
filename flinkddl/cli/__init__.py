"""The command line: a thin shell over flinkddl.api."""
