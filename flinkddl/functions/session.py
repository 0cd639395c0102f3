"""Functions about the session and about types: they are constants for us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.core import Function, Lowered, string
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.sqltypes import DataType


def type_text(t: DataType) -> str:
    """Return a type as TYPEOF prints it: without NOT NULL for nullable ones, lengths in full."""
    return str(t.as_attribute(None))


def _typeof(call: Lowered) -> str:
    t = call.t[0]
    forced = len(call.a) > 1 and call.literal(1) is True
    text = type_text(t)
    if forced:
        text = text.replace("STRING", f"VARCHAR({T.MAX_LENGTH})") if t.root is Root.VARCHAR else text
    return string(text)


def _database(call: Lowered) -> str:
    return string(str(call.options.get("database", "default_database")))


FUNCTIONS = (
    Function("TYPEOF", "null BOOLEAN?", T.STRING, _typeof, nulls="yes"),
    Function("CURRENT_DATABASE", "", T.STRING, _database, nulls="no"),
)
