"""A whole script: compiled to actions, plans in files, views as a program."""
