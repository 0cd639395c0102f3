"""The connector ``faker``: facts, options, expressions, how it is read."""
