"""The connector ``jdbc``: facts, options, how it is read and written."""
