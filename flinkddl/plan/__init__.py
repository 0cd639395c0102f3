"""Queries as plans: names and types resolved, patterns recognised, changelogs inferred. No Spark here."""
