"""The connector ``blackhole``: swallows every kind of row."""

from dataclasses import replace

from flinkddl.connectors import print as print_connector

CONNECTOR = replace(print_connector.CONNECTOR, name="blackhole")
