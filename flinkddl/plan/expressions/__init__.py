"""Expressions of the parsed tree to typed ones."""
