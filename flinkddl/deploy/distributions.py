"""The Python of a package: flinkddl and what it imports, as they are installed here. Nothing is downloaded.

A wheel is made of the files that are imported, whether they were installed from a wheel or lie in a source tree. All
together are an archive to be put on ``sys.path``: without PySpark, which a Spark distribution brings. Compiled modules
among them hold for this Python and this platform.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

import flinkddl
from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OWN = "flinkddl"
OF_SPARK = ("pyspark", "py4j")
"""Not packaged: they come with Spark, in the version of the cluster."""

EPOCH = (1980, 1, 1, 0, 0, 0)
_OF_INSTALLERS = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def needed(extras: Iterable[str] = ()) -> dict[str, Distribution]:
    """Return flinkddl and all that it requires, by name, without Spark. Raises FD872 where one is not installed."""
    found: dict[str, Distribution] = {}
    _add(OWN, tuple(extras), found)
    return dict(sorted(found.items()))


def _add(name: str, extras: tuple[str, ...], found: dict[str, Distribution]) -> None:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    key = str(canonicalize_name(name))
    if key in OF_SPARK or (key in found and not extras):
        return
    found[key] = installed(name)
    for wanted in map(Requirement, found[key].requires or ()):
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            _add(wanted.name, tuple(wanted.extras), found)


def installed(name: str) -> Distribution:
    """Return a distribution; one that pip installed before the ``.egg-info`` that a build leaves in a source tree."""
    there = sorted(distributions(name=name), key=lambda d: d.read_text("WHEEL") is None)
    if not there:
        raise FlinkDdlError.of(
            "FD872", f"'{name}' is not installed here, and the job needs it", help=f"pip install {name}"
        )
    return there[0]


def requirements(found: Mapping[str, Distribution]) -> str:
    """Return what is installed, ours apart, as a file of requirements with versions."""
    return "".join(f"{name}=={d.version}\n" for name, d in found.items() if name != OWN)


def files_of(name: str, found: Distribution) -> dict[str, Path]:
    """Return the files that are imported of a distribution by their paths below ``sys.path``. Raises FD872."""
    if found.files is None:
        message = f"'{name}' was installed without a list of its files"
        raise FlinkDdlError.of("FD872", message, help="install flinkddl with pip into a venv, and package from there")
    listed = {str(f): Path(str(f.locate())) for f in found.files if not str(f).startswith(("..", "/"))}
    if name == OWN:
        folder = Path(flinkddl.__file__).parent
        own = {f"{OWN}/{p.relative_to(folder).as_posix()}": p for p in folder.rglob("*")}
        listed = {k: p for k, p in listed.items() if ".dist-info/" in k and p.name not in _OF_INSTALLERS} | own
    return {k: p for k, p in sorted(listed.items()) if p.suffix != ".pyc" and p.is_file()}


def write_wheel(found: Distribution, folder: Path) -> Path:
    """Write flinkddl's wheel into a folder; return its path."""
    path = folder / f"{OWN}-{found.version}-py3-none-any.whl"
    record = f"{OWN}-{found.version}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in files_of(OWN, found).items():
            content = file.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
            put(archive, name, content)
        put(archive, record, "".join([*lines, f"{record},,\n"]).encode())
    return path


def put(archive: zipfile.ZipFile, name: str, content: bytes, packed: bool = True) -> None:
    """Write an entry whose bytes depend on nothing but its content."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def write_archive(found: Mapping[str, Distribution], modules: Mapping[str, bytes], path: Path) -> None:
    """Write all distributions and further modules as one ``.tar.gz``, to be put on ``sys.path``."""
    files: dict[str, Path | bytes] = {k: p for name, d in found.items() for k, p in files_of(name, d).items()}
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, content in sorted({**files, **modules}.items()):
            data = content if isinstance(content, bytes) else content.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def modules_of(py_files: Iterable[str]) -> dict[str, bytes]:
    """Return what ``--py-files`` names, modules and the contents of archives, by path below ``sys.path``."""
    out: dict[str, bytes] = {}
    for file in map(Path, py_files):
        if file.suffix == ".py":
            out[file.name] = file.read_bytes()
            continue
        with zipfile.ZipFile(file) as archive:
            out |= {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    return out


def importable(module: str, found: Mapping[str, Distribution], modules: Mapping[str, bytes]) -> bool:
    """Return whether a module's package is in the archive, or Python's own."""
    import sys

    first = re.escape(module.partition(".")[0])
    paths = [*modules, *(path for name, d in found.items() for path in files_of(name, d))]
    return first in sys.stdlib_module_names or any(re.match(rf"{first}(?:/|\.)", path) for path in paths)
