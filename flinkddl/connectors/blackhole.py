"""The connector ``blackhole``: swallows every kind of row."""

from flinkddl.connectors import print as print_connector
from flinkddl.records import replace

CONNECTOR = replace(print_connector.CONNECTOR, name="blackhole")
