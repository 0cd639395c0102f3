"""The connector ``filesystem``: facts, options, how it is read and written."""
