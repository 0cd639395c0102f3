"""``flinkddl support``: what runs, as Markdown tables made of the tables that the code itself works with."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, WRONG_USAGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from flinkddl.connectors import Connector
    from flinkddl.options.registry import Document

_YES, _NO = "yes", "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--write", metavar="FILE", help="bring the tables in a Markdown file up to date")


def run(args: argparse.Namespace) -> int:
    """Print the tables, or write them into a file."""
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        print(f"there is no table '{unknown[0]}', only {', '.join(PARTS)}", file=sys.stderr)
        return WRONG_USAGE
    if args.write:
        path = Path(args.write)
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(markdown(args.parts or list(PARTS)))
    return OK


_PLACE = re.compile(r"(<!-- flinkddl support ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return Markdown with the tables between ``<!-- flinkddl support PART ... -->`` and ``<!-- end -->`` made anew."""
    return _PLACE.sub(lambda m: f"{m.group(1)}\n{markdown(m.group(2).split())}\n\n{m.group(3)}", text)


def markdown(parts: Iterable[str]) -> str:
    """Return some of the tables, each under its heading."""
    return "\n\n".join(f"**{part.capitalize()}**\n\n{PARTS[part]()}" for part in parts)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


# ---- connectors and formats --------------------------------------------------------------------------------------


def connectors() -> str:
    """Return the connectors: roles, the changes they carry, and what becomes of their options."""
    from flinkddl.connectors import connector
    from flinkddl.options import ResolvedOptions, registry

    rows = []
    for d in registry.documents("connector"):
        found = connector(d.name)
        uses = [s.use for s in (*d.options.values(), *d.families)]
        rows.append(
            (
                f"`{d.name}`",
                _carried(found, "source", d),
                _carried(found, "sink", d),
                _YES if found.lookup(ResolvedOptions(d.name, "source", {})) else _NO,
                f"{uses.count('mapped')} / {uses.count('ignored')} / {uses.count('refused')}",
            )
        )
    header = ("connector", "reads", "writes", "lookup join", "options: carried out / without effect / refused")
    return table(header, rows)


_WORDS: Mapping[frozenset[str], str] = {
    frozenset("I"): "inserts",
    frozenset({"UA", "D"}): "upserts and deletes",
    frozenset({"I", "UA", "D"}): "upserts and deletes",
    frozenset({"I", "UB", "UA", "D"}): "all changes",
}


def _carried(found: Connector, role: str, document: Document) -> str:
    """Return the changes of a role, with an insert-only format and with a CDC format."""
    from flinkddl.options.resolved import FormatOptions, ResolvedOptions

    mode = found.source_mode if role == "source" else found.sink_mode
    if role not in document.roles or mode is None:
        return _NO
    texts = []
    for changelog in ("insert-only", "changelog"):
        format = FormatOptions("json", "format", "json.", {}, changelog=changelog)
        options = ResolvedOptions(document.name, "source" if role == "source" else "sink", {}, value_format=format)
        kinds = frozenset(mode(options))
        texts.append(_WORDS.get(kinds, ", ".join(sorted(kinds))))
    return texts[0] if texts[0] == texts[1] else f"{texts[0]}; CDC formats: {texts[1]}"


def formats() -> str:
    """Return the formats: what they carry and where they can be used."""
    from flinkddl.options import registry

    rows = []
    for d in registry.documents("format"):
        where = ", ".join(c.name for c in registry.documents("connector") if _takes(c, d))
        roles = " and ".join(w for r, w in (("source", "read"), ("sink", "written")) if r in d.roles)
        carries = "inserts" if d.changelog == "insert-only" else "all changes"
        rows.append((f"`{d.name}`", roles, carries, where, str(len(d.options))))
    return table(("format", "is", "carries", "with connector", "options"), rows)


def _takes(taker: Document, format: Document) -> bool:
    from flinkddl.connectors import connector

    if taker.formats.get("value") not in ("any", format.changelog):
        return False
    return format.name in (connector(taker.name).formats or (format.name,)) and taker.name in (
        format.connectors or (taker.name,)
    )


# ---- queries -----------------------------------------------------------------------------------------------------


def queries() -> str:
    """Return the operators of the plan, and which lowering has them."""
    from flinkddl.plan.nodes import NODES
    from flinkddl.plan.nodes.base import Stateless
    from flinkddl.spark import batch, stream

    rows = []
    for node in NODES:
        has = [_YES if node in handlers else _NO for handlers in (stream.HANDLERS, batch.HANDLERS)]
        rows.append((node.sql, f"`{node.__name__}`", *has, _NO if issubclass(node, Stateless) else _YES))
    return table(("query", "operator", "streaming", "batch", "keeps state"), rows)


def functions() -> str:
    """Return the functions by family, then those that are refused by name."""
    from flinkddl.functions import catalogue

    rows = []
    for family in catalogue._FAMILIES:
        names = sorted(row.name for row in family.FUNCTIONS if not row.reason and row.name[0].isalpha())
        if names:
            title = family.__name__.rpartition(".")[2].replace("_functions", "").replace("_", " ")
            rows.append((title, str(len(names)), ", ".join(n.replace("|", "\\|") for n in names)))
    aggregates = sorted(catalogue.AGGREGATES)
    rows.append(("aggregates", str(len(aggregates)), ", ".join(aggregates)))
    refused = sorted(f.name for f in catalogue.FUNCTIONS.values() if f.reason)
    text = table(("family", "number", "functions"), rows)
    return f"{text}\n\nRefused by name: {', '.join(refused)}."


_NOT_SAID = {"UNSUPPORTED", "MODULE", "EXECUTE QUERY"}
_SAID_SO = {"JAR": ("ADD JAR", "REMOVE JAR")}


def statements() -> str:
    """Return the statements, by what is done with them."""
    from flinkddl.catalog import apply
    from flinkddl.catalog.session import _INSTEAD
    from flinkddl.script import compile as script

    def words(name: str) -> str:
        return "".join(f" {c}" if c.isupper() and i else c for i, c in enumerate(name)).upper()

    known = {words(t.__name__) for t in (*apply.HANDLERS, *script._ACTIONS)} - _NOT_SAID
    done = sorted(said for name in known for said in _SAID_SO.get(name, (name,)))
    rows = [("carried out", ", ".join([*done, "SELECT"])), ("refused with a hint", ", ".join(sorted(_INSTEAD)))]
    return table(("", "statements"), rows)


def settings() -> str:
    """Return the keys of SET by what becomes of them."""
    from flinkddl.catalog.settings import every

    by_use: dict[str, list[str]] = {}
    for s in every():
        by_use.setdefault(s.use, []).append(f"`{s.key}`")
    return table(("", "settings"), [(use, ", ".join(sorted(keys))) for use, keys in sorted(by_use.items())])


def differences() -> str:
    """Return what of Flink is refused here, does nothing, or is done in another way."""
    from flinkddl.cli import differences as found

    parts = (
        (("refused", "why"), found.refused()),
        (("accepted without effect", "why"), found.without_effect()),
        (("carried out in another way", "how"), found.otherwise()),
    )
    return "\n\n".join(table(header, rows) for header, rows in parts)


PARTS: Mapping[str, Callable[[], str]] = {
    "connectors": connectors,
    "formats": formats,
    "queries": queries,
    "statements": statements,
    "settings": settings,
    "functions": functions,
    "differences": differences,
}
