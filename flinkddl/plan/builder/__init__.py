"""From trees to nodes: names and types resolved, subqueries and windows put in their places."""
