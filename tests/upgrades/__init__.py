"""Edits of a script over its checkpoint: what the second start says, and the table that it leaves."""
