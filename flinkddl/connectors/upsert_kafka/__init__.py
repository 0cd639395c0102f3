"""The connector ``upsert-kafka``: facts, options, how it is read and written."""
