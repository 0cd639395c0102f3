"""Writes the folder of a packaged job: what a cluster needs, and nothing that is secret."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from importlib.metadata import metadata, version
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from flinkddl.deploy import distributions
from flinkddl.deploy.references import references, secrets_in_clear
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.jars import resolve_jars, spark_jars
from flinkddl.runtime.session.extras import extra_jars
from flinkddl.runtime.udf import refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.metadata import Distribution

    from flinkddl.deploy.references import References
    from flinkddl.diagnostics import SourceText
    from flinkddl.script.compile import Compiled

_TEMPLATES = Path(__file__).parent / "templates"
_OF_CONNECTOR = re.compile(r"flinkddl\.connectors\.(\w+)\.")
_STOP = "kill -TERM $(< /tmp/flinkddl.pid) && while kill -0 $(< /tmp/flinkddl.pid); do sleep 1; done"
_WORKERS = '--archives "$here/python.tar.gz#python"'


class _Text(Template):
    delimiter = "%%"


@dataclass(frozen=True)
class Request:
    """What is packaged: a compiled script, the values of ``-D``, arguments that `run` gets each time, modules, jars.

    ``arguments`` hold no secret. ``image`` is the name of the container image in the Kubernetes manifests.
    """

    source: SourceText
    compiled: Compiled
    variables: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    py_files: tuple[str, ...] = ()
    jars: str | None = None
    image: str = ""

    @property
    def name(self) -> str:
        """The job's name, as Kubernetes takes one: the script's, in small letters, digits and hyphens."""
        stem = "job" if self.source.name.startswith("<") else Path(self.source.name).stem
        return re.sub("[^a-z0-9]+", "-", stem.lower()).strip("-")[:50] or "job"


def write_package(request: Request, folder: Path) -> list[str]:
    """Write a job's package into an empty folder; return the names of what lies in it.

    Raises FlinkDdlError: FD670 and FD524 (functions of a module or jar that nobody named), FD870 (a secret in clear
    text), FD871 (a module that nobody packages, two jars of one name), FD872 (what is needed is not installed), FD802
    and FD803 (jars); OSError where the folder cannot be written.
    """
    if found := secrets_in_clear(request.source):
        raise FlinkDdlError(found)
    for job in request.compiled.jobs:
        refuse_foreign(job)
    functions = _function_jars(request)
    needed = distributions.needed(_extras(request.compiled))
    modules = distributions.modules_of(request.py_files)
    _check_modules(request.modules, needed, modules)
    names = references(request.source.text, request.variables)
    (folder / "jars").mkdir(parents=True)
    roles = sorted({role for job in request.compiled.jobs for role in job.extras})
    for jar in (*spark_jars(request.jars), *extra_jars(roles, request.jars)):
        shutil.copyfile(jar, folder / "jars" / jar.name)
    _write_functions(functions, folder)
    wheel = distributions.write_wheel(needed[distributions.OWN], folder)
    distributions.write_archive(needed, modules, folder / "python.tar.gz")
    _write(folder / "requirements.txt", distributions.requirements(needed))
    _write(folder / "job.sql", request.source.text)
    _write(folder / "arguments.txt", "".join(f"{argument}\n" for argument in request.arguments))
    _write(folder / "job.env", "".join(f"{key}={value}\n" for key, value in names.settings.items()))
    _fill(folder, _values(request, names, wheel))
    _write_job_jar(folder)
    listed = sorted(p for p in folder.rglob("*") if p.is_file())
    sums = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder).as_posix()}\n" for p in listed)
    _write(folder / "SHA256SUMS", "".join(sums))
    return sorted(p.name for p in folder.iterdir())


def _function_jars(request: Request) -> dict[str, Path]:
    """Return the jars of Java functions by name, and Flink's where such a function is called. Raises FD871."""
    compiled, found = request.compiled, dict[str, Path]()
    called = {jar for job in compiled.jobs for jar in job.jars}
    for path in map(Path, sorted(called | {jar for state in compiled.states for jar in state.jars})):
        if path.name in found and found[path.name].read_bytes() != path.read_bytes():
            message = f"'{found[path.name]}' and '{path}' are two jars of one name, by which the package knows them"
            raise FlinkDdlError.of("FD871", message, help="rename one")
        found[path.name] = path
    return found | ({p.name: p for p in resolve_jars("flink", request.jars)} if called else {})


def _write_functions(jars: Mapping[str, Path], folder: Path) -> None:
    """Write jars that are on no class path into a folder of their own; and their list, by which ``main.py`` knows."""
    if jars:
        (folder / "functions").mkdir()
        _write(folder / "functions.txt", "".join(f"{name}\n" for name in jars))
    for name, path in jars.items():
        shutil.copyfile(path, folder / "functions" / name)


def python_workers(compiled: Compiled) -> list[str]:
    """Return what of a script Spark's Python workers do, on the executors: writers and functions."""
    jobs = compiled.jobs
    writers = {w.format for job in jobs for w in job.writes if w.writer}
    functions = (of.partition(":") for job in jobs for of in job.udfs.values())
    return sorted(writers | {name for kind, _, name in functions if kind != "java"})


def _extras(compiled: Compiled) -> list[str]:
    """Return the extras of flinkddl that the job's Python writers need: an extra has the name of its connector."""
    writers = (_OF_CONNECTOR.match(w.writer) for job in compiled.jobs for w in job.writes)
    known = metadata(distributions.OWN).get_all("Provides-Extra") or []
    return sorted({found[1] for found in writers if found and found[1] in known})


def _check_modules(wanted: Iterable[str], needed: Mapping[str, Distribution], modules: Mapping[str, bytes]) -> None:
    for module in wanted:
        if not distributions.importable(module, needed, modules):
            message = f"the Python module '{module}' would not be in the package"
            raise FlinkDdlError.of("FD871", message, help="give it by --py-files FILE")


def _values(request: Request, names: References, wheel: Path) -> dict[str, str]:
    workers = python_workers(request.compiled)
    told = f"need it too, for {', '.join(workers)}" if workers else "need none: what runs there is Spark's and Java's"
    return {
        "name": request.name,
        "image": request.image or f"registry.example/{request.name}:1",
        "spark": version("pyspark"),
        "python": f"{sys.version_info[0]}.{sys.version_info[1]} {sysconfig.get_platform()}",
        "wheel": wheel.name,
        "workers": _WORKERS if workers else "",
        "has_workers": str(bool(workers)),
        "needs_python": told,
        "secrets": ", ".join(f"`{name}`" for name in names.secrets) or "none",
        "no_secrets": "false" if names.secrets else "true",
        "stop": _STOP,
    }


def _fill(folder: Path, values: Mapping[str, str]) -> None:
    for template in sorted(p for p in _TEMPLATES.rglob("*") if p.is_file() and p.suffix != ".pyc"):
        path = folder / template.relative_to(_TEMPLATES)
        path.parent.mkdir(exist_ok=True)
        _write(path, _Text(template.read_text(encoding="utf-8")).substitute(values))
        if path.suffix == ".sh":
            path.chmod(0o755)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_job_jar(folder: Path) -> None:
    """Write all of the package as one jar: the jars' classes together, and a program that ``python job.jar`` runs.

    Signatures go, as they hold for a jar as it was; of two resources of a name the first counts, services are joined.
    """
    services: dict[str, bytes] = {}
    taken = {"META-INF/MANIFEST.MF", "module-info.class"}
    with zipfile.ZipFile(folder / "job.jar", "w") as archive:
        distributions.put(archive, "__main__.py", (folder / "main.py").read_bytes())
        for name in ("main.py", "job.sql", "arguments.txt", "job.env", "python.tar.gz"):
            distributions.put(archive, f"package/{name}", (folder / name).read_bytes(), packed=False)
        for file in (*sorted(folder.glob("functions.txt")), *sorted(folder.glob("functions/*"))):
            name = file.relative_to(folder).as_posix()
            distributions.put(archive, f"package/{name}", file.read_bytes(), packed=False)
        for jar in sorted((folder / "jars").iterdir()):
            with zipfile.ZipFile(jar) as built:
                for name in built.namelist():
                    if name.startswith("META-INF/services/") and not name.endswith("/"):
                        services[name] = services.get(name, b"") + built.read(name).rstrip() + b"\n"
                    elif name not in taken and not name.endswith(("/", ".SF", ".RSA", ".DSA")):
                        taken.add(name)
                        distributions.put(archive, name, built.read(name))
        for name, content in services.items():
            distributions.put(archive, name, content)
