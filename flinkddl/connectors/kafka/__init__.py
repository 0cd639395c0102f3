"""The connector ``kafka``: facts, options, how it is read and written."""
