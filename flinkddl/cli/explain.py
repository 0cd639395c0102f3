"""``flinkddl explain``: the plans of a script's queries and INSERTs, EXPLAINed ones too: text, data or picture."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from flinkddl.cli.common import (
    OK,
    add_before_argument,
    add_script_arguments,
    compiled_script,
    print_diagnostics,
    read_source,
)

if TYPE_CHECKING:
    import argparse

    from flinkddl.script.compile import Start


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_script_arguments(parser)
    add_before_argument(parser)
    help = "text, or the data flow as JSON, Graphviz or a page"
    parser.add_argument("--format", choices=("text", "json", "dot", "html"), default="text", help=help)


def run(args: argparse.Namespace) -> int:
    """Print the plans of all jobs."""
    source = read_source(args.script)
    compiled = compiled_script(args, source)
    print_diagnostics(compiled.diagnostics)
    starts = compiled.starts
    if not starts:
        print(f"{source.name}: no query and no INSERT in it, so there is no plan", file=sys.stderr)
    print(_shown(starts, args.format, source.name))
    return OK


def _shown(starts: list[Start], format: str, name: str) -> str:
    from flinkddl.diagnostics.render import printable
    from flinkddl.show.dataflow import as_json, flow_of
    from flinkddl.show.explain import explain
    from flinkddl.show.pictures import dot, html

    if format == "text":
        return printable("\n\n".join(explain(s.job) for s in starts))
    flows = [flow_of(s.job) for s in starts]
    if format == "json":
        return json.dumps([as_json(flow) for flow in flows], indent=2, ensure_ascii=False)
    return dot(flows) if format == "dot" else html(flows, name)
