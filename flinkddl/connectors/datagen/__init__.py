"""The connector ``datagen``: facts, options, how it is read and written."""
