"""``flinkddl explain``: the plans of a script's queries and INSERTs, EXPLAINed ones too: text, data or picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flinkddl.cli.common import OK, add_script_arguments, compiled_script, print_diagnostics, read_source

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.script.compile import Compiled, Start


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_script_arguments(parser)
    parser.add_argument(
        "--format", choices=tuple(_FORMATS), default="text", help="text, or the data flow as JSON, Graphviz or a page"
    )


def run(args: argparse.Namespace) -> int:
    """Print the plans of all jobs."""
    source = read_source(args.script)
    compiled = compiled_script(args, source)
    print_diagnostics(compiled.diagnostics)
    starts = list(_jobs(compiled))
    if not starts:
        print(f"{source.name}: no query and no INSERT in it, so there is no plan", file=sys.stderr)
    print(_FORMATS[args.format](starts, compiled, source.name))
    return OK


def _jobs(compiled: Compiled) -> Iterator[Start]:
    from flinkddl.script.compile import Answer, Start

    for action in compiled.actions:
        match action:
            case Start():
                yield action
            case Answer(of=Start() as explained):
                yield explained


def _text(starts: list[Start], compiled: Compiled, name: str) -> str:
    from flinkddl.diagnostics.render import printable
    from flinkddl.show.explain import explain

    return printable("\n\n".join(explain(s.job) for s in starts))


def _json(starts: list[Start], compiled: Compiled, name: str) -> str:
    import json

    from flinkddl.show.dataflow import as_json, flow_of

    flows = [as_json(flow_of(s.job)) for s in starts]
    return json.dumps(flows, indent=2, ensure_ascii=False)


def _dot(starts: list[Start], compiled: Compiled, name: str) -> str:
    from flinkddl.show.dataflow import flow_of
    from flinkddl.show.pictures import dot

    return dot(flow_of(s.job) for s in starts)


def _html(starts: list[Start], compiled: Compiled, name: str) -> str:
    from flinkddl.show.dataflow import flow_of
    from flinkddl.show.pictures import html

    return html((flow_of(s.job) for s in starts), name)


_FORMATS: Mapping[str, Callable[[list[Start], Compiled, str], str]] = {
    "text": _text,
    "json": _json,
    "dot": _dot,
    "html": _html,
}
