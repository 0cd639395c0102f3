"""The connector ``dataframe``: facts, options, how it is read and written."""
