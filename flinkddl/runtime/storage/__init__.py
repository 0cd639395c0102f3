"""Checkpoints, their holders and the folders of filesystem tables, wherever Spark keeps them."""
