"""The connector ``countdown``: the numbers from one down to 1, and a folder of Parquet files that takes any table."""
