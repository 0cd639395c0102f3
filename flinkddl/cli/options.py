"""``flinkddl options [CONNECTOR | FORMAT | KEY ...]``: the registry and the settings as text or JSON."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from flinkddl.cli.common import OK, WRONG_USAGE
from flinkddl.diagnostics import did_you_mean
from flinkddl.options import elsewhere

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from flinkddl.catalog.settings import Setting
    from flinkddl.options.registry import Document, OptionSpec


_ANY = "no.such.key"
_UNITS = {"duration": " ms", "memory": " bytes"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a connector, a format, an option, a setting, or the start of a key"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how they are printed")


def run(args: argparse.Namespace) -> int:
    """Print connectors and formats whole, a key everywhere it exists; all names without an argument."""
    found: list[dict[str, Any]] = []
    for name in args.names:
        entries = about(name)
        if not entries:
            refused = elsewhere.connector(name)
            hint = f"{refused.cause}; {refused.instead}" if refused else did_you_mean(name, known_names())
            said = f"; {hint}" if hint else ""
            print(f"no connector, format, option or setting is named '{name}'{said}", file=sys.stderr)
            return WRONG_USAGE
        found += entries
    if not args.names:
        found = [{**document_json(d), "options": []} for d in documents()]
    if args.format == "json":
        print(json.dumps(found, indent=2, ensure_ascii=False, default=list))
    elif not args.names:
        print("\n".join(f"{e['kind']:<10} {e['name']:<24} {e['description']}" for e in found))
    else:
        print("\n\n".join("\n".join(_lines(e)) for e in found))
    return OK


def documents() -> list[Document]:
    """Return all connectors and formats."""
    from flinkddl.options import registry

    return [*registry.documents("connector"), *registry.documents("format")]


def known_names() -> set[str]:
    """Return every name that can be asked for."""
    from flinkddl.catalog.settings import table

    keys = {_written(d, key) for d in documents() for key in d.options}
    return {d.name for d in documents()} | keys | set(table())


def about(name: str) -> list[dict[str, Any]]:
    """Return everything of that name: documents, else the owners of a key, else of keys that begin so."""
    named = [document_json(d) for d in documents() if d.name == name]
    if named:
        return named
    exact = [_part(d, [(key, spec)]) for d in documents() for key in _keys_in(d, name) if (spec := _spec(d, key))]
    exact += [setting_json(s) for s in _settings(lambda key: key == name)]
    if exact:
        return exact
    prefix = name.removesuffix("*").removesuffix(".") + "."
    parts = [(d, [(k, s) for k, s in sorted(d.options.items()) if k.startswith(prefix)]) for d in documents()]
    return [_part(d, specs) for d, specs in parts if specs] + [
        setting_json(s) for s in _settings(lambda key: key.startswith(prefix))
    ]


def _keys_in(d: Document, name: str) -> tuple[str, ...]:
    """Return how a document calls a key: in a WITH clause the options of a format carry its name in front."""
    if d.kind != "format":
        return (name,)
    written = re.fullmatch(rf"(?:key\.|value\.)?{re.escape(d.name)}\.(.+)", name)
    return (written.group(1),) if written else ()


def _spec(d: Document, key: str) -> OptionSpec | None:
    """Return a key's own entry or that of a family; not of one that takes any key."""
    spec = d.spec(key)
    return None if spec is not None and spec in d.families and re.search(spec.key, _ANY) else spec


def _settings(wanted: Any) -> Iterable[Setting]:
    from flinkddl.catalog.settings import table

    return {s.key: s for key, s in sorted(table().items()) if wanted(key)}.values()


# ---- as plain data -----------------------------------------------------------------------------------------------


def document_json(d: Document) -> dict[str, Any]:
    """Return a connector or format with all its options, required ones first."""
    out = _part(d, sorted(d.options.items(), key=lambda item: (item[0] not in d.required, item[0])))
    out["options"] += [option_json(_written(d, readable(f.key)), f, False) for f in d.families]
    return out


def _part(d: Document, specs: Iterable[tuple[str, OptionSpec]]) -> dict[str, Any]:
    return {
        "kind": d.kind,
        "name": d.name,
        "description": d.doc,
        "roles": sorted(d.roles, reverse=True),
        "since": d.since,
        "options": [option_json(_written(d, key), spec, key in d.required) for key, spec in specs],
    }


def _written(d: Document, key: str) -> str:
    return f"{d.name}.{key}" if d.kind == "format" else key


def option_json(key: str, spec: OptionSpec, required: bool) -> dict[str, Any]:
    """Return an option; what is not known of it is left out."""
    out = {
        "key": key,
        "type": spec.kind,
        "required": required or None,
        "default": spec.default,
        "choices": spec.choices,
        "roles": sorted(spec.roles, reverse=True),
        "since": spec.since,
        "aliases": spec.aliases,
        "instead": spec.instead,
        "examples": spec.examples,
        "description": spec.doc,
        "on Spark": spec.use,
        "note": spec.note,
    }
    return {k: v for k, v in out.items() if v not in (None, (), "")}


def setting_json(s: Setting) -> dict[str, Any]:
    """Return a key of SET in the same form."""
    option = {"key": s.key, "type": s.kind, "default": s.default, "choices": s.choices, "aliases": s.aliases}
    option |= {"on Spark": s.use, "note": s.note}
    kept = {k: v for k, v in option.items() if v not in (None, (), "")}
    return {"kind": "setting", "name": s.key, "description": "", "options": [kept]}


def readable(pattern: str) -> str:
    """Return the pattern of an option family as people write it: ``fields.<column>.kind``."""
    text = re.sub(r"\.\+|\[[^]]*\]\.\*", "<name>", pattern.strip("^$").replace("\\.", "\0")).replace("\0", ".")
    return f"{text}<name>" if text.endswith(".") else text


# ---- as text -----------------------------------------------------------------------------------------------------


def _lines(entry: dict[str, Any]) -> Iterable[str]:
    said = f": {entry['description']}" if entry["description"] else ""
    roles = f" [{', '.join(entry['roles'])}]" if entry.get("roles") else ""
    yield f"{entry['kind']} {entry['name']}{roles}{said}"
    for o in entry["options"]:
        yield from _option_lines(o, entry.get("roles"))


def _option_lines(o: dict[str, Any], owner: list[str] | None) -> Iterable[str]:
    facts = [o["type"] + (f" ({' | '.join(o['choices'])})" if "choices" in o else "")]
    facts += ["required"] if o.get("required") else []
    facts += [f"default {_text(o['default'])}{_UNITS.get(o['type'], '')}"] if "default" in o else []
    facts += [f"{o['roles'][0]} only"] if owner and len(o.get("roles", ())) == 1 < len(owner) else []
    facts += [f"since {o['since']}"] if "since" in o else []
    yield f"  {o['key']}  {', '.join(facts)}"
    if "description" in o:
        yield f"      {o['description']}"
    if "examples" in o:
        yield f"      e.g. {', '.join(map(repr, o['examples']))}"
    if "instead" in o:
        yield f"      deprecated: write '{o['instead']}'"
    if "aliases" in o:
        yield f"      also written {', '.join(o['aliases'])}"
    yield f"      on Spark: {o['on Spark']}" + (f": {o['note']}" if "note" in o else "")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ";".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
