"""From the plan as written to the plan as it runs."""
