"""``flinkddl savepoint create|list|describe|restore|drop``: copies of a job's state to go on from, elsewhere too."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.cli.common import (
    OK,
    OUTSIDE_FAILED,
    WRONG_USAGE,
    add_variables_argument,
    compiled_script,
    positive,
    read_source,
    size_text,
)
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from flinkddl.runtime.job.registry import Record
    from flinkddl.runtime.storage.savepoints import Savepoint

PAUSE_SECONDS = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (_, help, configure_action) in ACTIONS.items():
        configure_action(actions.add_parser(name, help=help, description=help))


def run(args: argparse.Namespace) -> int:
    """Carry out the action; 3 where it cannot be done. Raises FD854 to FD859, FD822, FD823."""
    return ACTIONS[args.action][0](args)


# ---- create --------------------------------------------------------------------------------------------------------


def _create(args: argparse.Namespace) -> int:
    from flinkddl.runtime.storage.savepoints import create, keep, load, savepoint_folder

    if bool(args.name) == bool(args.checkpoint):
        print("name a job, or --checkpoint with the folder of one that has ended", file=sys.stderr)
        return WRONG_USAGE
    target = savepoint_folder(args.to)
    made = _of_running(args, target) if args.name else None
    savepoint = load(made) if made is not None else create(_ended_folder(args), target, live=False)
    print(savepoint.path)
    for gone in keep(target, savepoint.job, args.keep):
        print(f"dropped {gone.path}: --keep {args.keep}", file=sys.stderr)
    return OK


def _of_running(args: argparse.Namespace, target: Path) -> Path | None:
    """Have the process of a running job make a savepoint; return None where the job has ended."""
    from flinkddl.runtime.job.registry import Request, ask, find, jobs_dir

    folder = jobs_dir(args.dir)
    record = find(folder, args.name)
    if record.over:
        return None
    request = Request("savepoint", savepoint=str(target.absolute()))
    ask(folder, record, request)
    return answer(folder, record.id, request.id, time.monotonic() + args.timeout)


def answer(folder: Path, id: str, request: str, until: float) -> Path:
    """Wait for a job's answer to a savepoint request; return the savepoint's path. Raises what the job met, FD856."""
    from flinkddl.runtime.job.registry import find

    while (record := find(folder, id)).answer.get("to") != request:
        if time.monotonic() > until or record.state == "LOST":
            message = f"job '{record.name}' ({record.state}) has not answered: no savepoint is known of"
            raise FlinkDdlError.of(
                "FD856", message, help="look at `flinkddl jobs logs`, or give --timeout more seconds"
            )
        time.sleep(PAUSE_SECONDS)
    if "code" in record.answer:
        raise FlinkDdlError.of(record.answer["code"], record.answer["message"], help=record.answer["help"])
    return Path(record.answer["path"])


def _ended_folder(args: argparse.Namespace) -> Path:
    """Return the folder of a job that has ended. Raises FD859 where that says too little, FD823 where it runs."""
    from flinkddl.runtime.storage.checkpoint import PLAN_FILE
    from flinkddl.runtime.storage.file_systems import LOCAL
    from flinkddl.runtime.storage.hold import holder
    from flinkddl.runtime.storage.savepoints import savepoint_folder

    if args.name:
        found = [_folder_of_record(args)]
    else:
        root = savepoint_folder(args.checkpoint)
        found = [p.parent for depth in ("", "*/", "*/*/") for p in sorted(root.glob(depth + PLAN_FILE))]
        found = [p for p in found if ".old-" not in p.name and args.job in (None, p.name, *_job_of(p))]
    if len(found) != 1:
        names = ", ".join(p.name for p in found) or "none"
        message = f"--checkpoint '{args.checkpoint}' holds {len(found)} jobs of that name: {names}"
        raise FlinkDdlError.of("FD859", message, help="say which with --job NAME")
    owner = holder(LOCAL, str(found[0]))
    if owner is not None:
        help = "name the running job instead: `flinkddl savepoint create NAME --to DIR`"
        raise FlinkDdlError.of("FD823", f"'{found[0]}' is held by {owner}", help=help)
    return found[0]


def _job_of(folder: Path) -> tuple[str, ...]:
    from flinkddl.runtime.storage.checkpoint import stored_plan
    from flinkddl.runtime.storage.file_systems import LOCAL

    plan = stored_plan(LOCAL, str(folder))
    return () if plan is None else (str(plan["job"]),)


def _folder_of_record(args: argparse.Namespace) -> Path:
    from flinkddl.runtime.job.registry import find, jobs_dir
    from flinkddl.runtime.storage.savepoints import folder_of, savepoint_folder

    record: Record = find(jobs_dir(args.dir), args.name)
    if record.checkpoint is None:
        raise FlinkDdlError.of("FD859", f"job '{record.name}' ran without a checkpoint: its state is gone")
    return folder_of(savepoint_folder(record.checkpoint), record.job)


# ---- list and describe ---------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    from flinkddl.runtime.storage.savepoints import every, savepoint_folder

    folder = savepoint_folder(args.folder)
    if not folder.is_dir():
        raise FlinkDdlError.of("FD857", f"there is no folder '{folder}'")
    found = every(folder)
    if args.output == "json":
        print(json.dumps([_plain(s) for s in found], indent=1, ensure_ascii=False))
    elif not found:
        print(f"no savepoints in '{args.folder}'")
    for s in found if args.output == "text" else ():
        batches = ", ".join(str(q.batch) for q in s.queries.values())
        print(f"{s.created}  {size_text(s.bytes):>10}  batch {batches}  {s.name}")
    return OK


def _plain(savepoint: Savepoint) -> dict[str, Any]:
    return {k: v for k, v in asdict(savepoint).items() if k != "files"} | {"bytes": savepoint.bytes}


def _describe(args: argparse.Namespace) -> int:
    from flinkddl.runtime.storage.savepoints import damage, load, savepoint_folder

    savepoint = load(savepoint_folder(args.path))
    broken = damage(savepoint)
    verdict = _verdict(args, savepoint) if args.script else None
    if args.output == "json":
        told = {"damage": broken, "resumes": None if verdict is None else not verdict}
        print(json.dumps(_plain(savepoint) | told, indent=1, ensure_ascii=False))
    else:
        for name, text in _told(savepoint):
            print(f"{name:<11}{text}".rstrip())
        print(f"{'files':<11}{broken or f'{len(savepoint.files):,}, all as they were written'}")
        if verdict is not None:
            print(f"{'script':<11}{args.script}: " + (verdict or "resumes from it"))
    return OUTSIDE_FAILED if broken or verdict else OK


def _told(s: Savepoint) -> Iterator[tuple[str, str]]:
    yield "savepoint", s.path
    yield "job", s.job
    yield "created", f"{s.created}, flinkddl {s.flinkddl}, Spark {s.spark}"
    yield "of script", f"{s.script} (sha256 {s.script_hash[:12]})" if s.script else "not known"
    yield "size", size_text(s.bytes)
    for name, taken in s.queries.items():
        yield "query", f"{name}: batch {taken.batch}"
        for source in taken.sources:
            yield "", f"read to {json.dumps(source, ensure_ascii=False)}"
        for operator, size in taken.state.items():
            yield "", f"state {operator}: {size_text(size)}"
    for identity, what in s.nodes:
        yield "keeps", f"{what}  [{identity}]"


def _verdict(args: argparse.Namespace, savepoint: Savepoint) -> str:
    """Return why a script does not go on from a savepoint; nothing where it does."""
    from flinkddl.runtime.storage.checkpoint import fingerprint, first_difference
    from flinkddl.script.compile import Start

    starts = [a for a in compiled_script(args, read_source(args.script)).actions if isinstance(a, Start)]
    plan = tuple((name, words) for name, words in savepoint.plan)
    if any(fingerprint(a.job) == plan for a in starts):
        return ""
    mine = [a for a in starts if a.job.name == savepoint.job] or starts
    if not mine:
        return "does not resume from it: it starts no job"
    return f"does not resume from it: {first_difference(plan, fingerprint(mine[0].job))}"


# ---- restore and drop ----------------------------------------------------------------------------------------------


def _restore(args: argparse.Namespace) -> int:
    from flinkddl.runtime.storage.checkpoint import set_aside
    from flinkddl.runtime.storage.file_systems import LOCAL
    from flinkddl.runtime.storage.hold import holder
    from flinkddl.runtime.storage.savepoints import folder_of, load, restore, savepoint_folder

    savepoint = load(savepoint_folder(args.path))
    folder = folder_of(savepoint_folder(args.checkpoint), savepoint.job)
    owner = holder(LOCAL, str(folder))
    if owner is not None:
        raise FlinkDdlError.of("FD823", f"'{folder}' is held by {owner}", help="stop that run first")
    if args.fresh and folder.exists():
        set_aside(LOCAL, str(folder))
    restore(savepoint, folder)
    print(f"restored to {folder}; go on with `flinkddl run SCRIPT --checkpoint {args.checkpoint}`")
    return OK


def _drop(args: argparse.Namespace) -> int:
    from flinkddl.runtime.storage.savepoints import drop, load, savepoint_folder

    for savepoint in [load(savepoint_folder(path)) for path in args.paths]:
        drop(savepoint)
        print(f"dropped {savepoint.path}")
    return OK


# ---- arguments -----------------------------------------------------------------------------------------------------


def _create_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a job as `flinkddl jobs` lists it")
    parser.add_argument("--checkpoint", metavar="DIR", help="instead: the checkpoint of a job that has ended")
    parser.add_argument("--job", metavar="NAME", help="with --checkpoint: which job, where it holds several")
    parser.add_argument("--to", required=True, metavar="DIR", help="folder that the savepoint is made in")
    parser.add_argument("--keep", type=positive, default=0, metavar="N", help="drop the job's older ones, but for N")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="how long to wait (120)")
    parser.add_argument("--dir", metavar="DIR", help="folder of the jobs, as of `flinkddl jobs`")


def _output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", choices=("text", "json"), default="text", help="how it is printed")


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="folder with savepoints")
    _output(parser)


def _describe_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="SAVEPOINT", help="folder of the savepoint")
    parser.add_argument("--script", metavar="FILE", help="say whether this script would resume from it")
    add_variables_argument(parser)
    _output(parser)


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="SAVEPOINT", help="folder of the savepoint")
    parser.add_argument("--checkpoint", required=True, metavar="DIR", help="what `flinkddl run` will be given")
    parser.add_argument("--fresh", action="store_true", help="set aside what the job has there")


def _drop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="SAVEPOINT", help="folders of savepoints")


ACTIONS: dict[str, tuple[Any, str, Any]] = {
    "create": (_create, "copy a job's state as of its last committed batch", _create_arguments),
    "list": (_list, "the savepoints of a folder", _list_arguments),
    "describe": (
        _describe,
        "what one holds, whether it is whole, whether a script resumes from it",
        _describe_arguments,
    ),
    "restore": (_restore, "make one the checkpoint of a job, here or elsewhere", _restore_arguments),
    "drop": (_drop, "remove savepoints", _drop_arguments),
}
