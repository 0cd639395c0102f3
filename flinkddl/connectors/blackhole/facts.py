"""The connector ``blackhole``: swallows every kind of row."""

from dataclasses import replace

from flinkddl.connectors.print.facts import CONNECTOR as PRINT

CONNECTOR = replace(PRINT, name="blackhole", write="flinkddl.connectors.blackhole.write")
