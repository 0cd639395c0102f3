"""Lists of options in a script, those of a WITH clause, an ALTER TABLE and a hint: rewritten where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.catalog.printing import literal_of
from flinkddl.diagnostics import Span
from flinkddl.dialect import nodes
from flinkddl.options.legacy import is_old
from flinkddl.script.edits import Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from flinkddl.diagnostics import Bag, SourceText
    from flinkddl.options.legacy import Pair
    from flinkddl.script.edits import Edits


def place_of(node: exp.Expression) -> Place:
    """Return where a node stands that was written."""
    found = nodes.span_of(node)
    assert found is not None
    return Place(*found)


def span_at(node: exp.Expression, source: SourceText) -> Span:
    """Return that place as one that can be told."""
    place = place_of(node)
    return Span(source, place.start, place.end)


def values_of(options: Sequence[nodes.Option] | None, text: str) -> dict[str, str]:
    """Return options by key, their values with the variables in them as they are written."""
    return {o.this.name: _raw(o.expression, text) for o in options or []}


def places_of(options: Sequence[nodes.Option] | None, source: SourceText) -> dict[str, Span]:
    """Return where the keys of options stand."""
    return {o.this.name: span_at(o.this, source) for o in options or []}


def rewrite(options: Sequence[nodes.Option], pairs: Mapping[str, tuple[Pair, ...]], edits: Edits) -> None:
    """Write what has become of each key; at least one of them is left."""
    kept = [bool(pairs[option.this.name]) for option in options]
    more = (pairs[option.this.name][1:] for option in options)
    added = {i: [f"{literal_of(k)} = {literal_of(v)}" for k, v in new] for i, new in enumerate(more)}
    for option in options:
        if new := pairs[option.this.name]:
            key, value = new[0]
            if key != option.this.name:
                edits.replace(place_of(option.this), literal_of(key))
            if value != _raw(option.expression, edits.text):
                edits.replace(place_of(option.expression), literal_of(value))
    places = [place_of(o) for o in options]
    edits.renew(places, kept, {i: texts for i, texts in added.items() if kept[i]})


def _raw(node: exp.Expression, text: str) -> str:
    place = place_of(node)
    written = text[place.start : place.end]
    inner = written[1:-1]
    plain = written[:1] == "'" == written[-1:] and "'" not in inner.replace("''", "")
    return inner.replace("''", "'") if plain else node.name


def unknown(options: Mapping[str, str], places: Mapping[str, Span], bag: Bag) -> bool:
    """Tell of options that can not be rewritten here, and return whether there are some.

    ``options`` are all of the table, ``places`` those of the keys that stand here.
    """
    if hidden := next((place for place in places.values() if place.text.startswith("$")), None):
        bag.error("FD673", "a variable stands for options of this table", hidden, "write them out")
    elif not is_old(options) and (key := next((k for k in places if k.startswith("connector.")), None)):
        message = f"'{key}' is an option of the older style, and the table has no 'connector.type'"
        bag.error("FD673", message, places[key], "say which connector it is")
    else:
        return False
    return True


def tell(lost: Mapping[str, str], differs: Mapping[str, str], places: Mapping[str, Span], bag: Bag) -> None:
    """Tell of keys that stand here and have no equivalent, or mean something else today."""
    for key, instead in lost.items():
        if key in places:
            bag.error("FD673", f"nothing does the same as '{key}' today", places[key], instead)
    for key, what in differs.items():
        if key in places:
            bag.warning("FD674", f"'{key}' is not quite the same today: {what}", places[key])
