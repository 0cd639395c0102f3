"""Which connectors there are: a row each, and those that other packages bring by the entry-point group ``GROUP``.

A connector is a Python package with ``options.json``, which the registry reads, and ``facts.py``, whose ``CONNECTOR``
is its record (``flinkddl.connectors.base``). Reading the metadata of all packages takes 4 ms.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUP = "flinkddl.connectors"
CONNECTORS: Mapping[str, str] = {
    "blackhole": "flinkddl.connectors.blackhole",
    "dataframe": "flinkddl.connectors.dataframe",
    "datagen": "flinkddl.connectors.datagen",
    "faker": "flinkddl.connectors.faker",
    "filesystem": "flinkddl.connectors.filesystem",
    "jdbc": "flinkddl.connectors.jdbc",
    "kafka": "flinkddl.connectors.kafka",
    "print": "flinkddl.connectors.print",
    "redis": "flinkddl.connectors.redis",
    "socket": "flinkddl.connectors.socket",
    "upsert-kafka": "flinkddl.connectors.upsert_kafka",
}
"""Name -> package of our own connectors. They go before those of other packages with the same name."""
DOCUMENT = "options.json"
_HOME = Path(__file__).parents[2]


@cache
def _others() -> Mapping[str, tuple[str, ...]]:
    """Return the packages of all entry points by name; a name belongs to one, and ``package`` says where it does not.

    Entry points of a package that is there twice, as installed and as its source, count once.
    """
    from importlib.metadata import entry_points

    found: dict[str, tuple[str, ...]] = {}
    for point in entry_points(group=GROUP):
        found[point.name] = tuple(sorted({*found.get(point.name, ()), point.value}))
    return found


def names() -> tuple[str, ...]:
    """Return the names of all connectors, sorted."""
    return tuple(sorted({*CONNECTORS, *_others()}))


def package(name: str) -> str | None:
    """Return the Python package of a connector, or None. Raises FD249 where two packages bring one of that name."""
    if name in CONNECTORS:
        return CONNECTORS[name]
    found = _others().get(name, ())
    if len(found) > 1:
        message = f"connector '{name}' is brought by several packages: {', '.join(found)}"
        raise FlinkDdlError.of("FD249", message, help="uninstall all but one")
    return found[0] if found else None


def passed_over(name: str) -> str:
    """Return the packages that bring a connector with the name of one of our own, "" where none does."""
    return ", ".join(_others().get(name, ())) if name in CONNECTORS else ""


def document(name: str) -> dict[str, Any] | None:
    """Return the JSON of a connector's options, or None for a connector that is not here. Raises FD248, FD249."""
    home = package(name)
    if home is None:
        return None
    with usable(name):
        if name in CONNECTORS:
            text = (_HOME.joinpath(*home.split(".")) / DOCUMENT).read_text(encoding="utf-8")
        else:
            from importlib.resources import files

            text = files(home).joinpath(DOCUMENT).read_text(encoding="utf-8")
        out: dict[str, Any] = json.loads(text)
        if out["title"] != name:
            raise ValueError(f"{DOCUMENT} has the title '{out['title']}'")
        return out


@contextmanager
def usable(name: str) -> Iterator[None]:
    """Say of whatever fails inside that the package of a connector is broken. Raises FD248."""
    try:
        yield
    except FlinkDdlError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        message = f"connector '{name}' of package '{package(name)}' cannot be loaded: {reason}"
        raise FlinkDdlError.of("FD248", message, help="install a version of it that fits this flinkddl") from error
