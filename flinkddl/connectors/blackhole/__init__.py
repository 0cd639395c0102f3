"""The connector ``blackhole``: facts, options, how it is read and written."""
