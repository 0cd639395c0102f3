"""The connector ``print``: facts, options, how it is read and written."""
