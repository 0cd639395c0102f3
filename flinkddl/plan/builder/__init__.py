"""From trees to nodes: names and types resolved, subqueries and windows put in their places."""

from flinkddl.plan.rules import files

files(__name__, __path__)
