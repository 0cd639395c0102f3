"""The connector ``redis``: facts, options, how it is written."""
