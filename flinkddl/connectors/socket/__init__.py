"""The connector ``socket``: facts, options, how it is read."""
