"""A real MIT KDC for tests, on a free loopback port, with a realm of its own; ``gssapi`` where pip has not built it.

Programs that are not installed are Debian's own packages, unpacked into a folder: that needs no root and changes
nothing of the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flinkddl.runtime.broker.server import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REALM = "TEST.FLINKDDL"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local")


class NotHere(Exception):
    """There is no KDC and none can be fetched: why."""


def _apt(*arguments: str, folder: Path) -> str:
    done = subprocess.run(["apt-get", *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise NotHere(f"apt-get {' '.join(arguments)}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return done.stdout


def _unpack(folder: Path, *packages: str) -> Path:
    """Unpack Debian packages below a folder and return where. Raises NotHere."""
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise NotHere("krb5kdc is not installed, and there is no apt-get to fetch it with")
    folder.mkdir()
    try:
        _apt("download", *packages, folder=folder)
    except NotHere:  # a fresh image has no lists yet
        _apt("update", "-qq", folder=folder)
        _apt("download", *packages, folder=folder)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(folder / "root")], check=True)
    return folder / "root"


def _needed(folder: Path) -> list[str]:
    """Return the packages that installing a KDC would bring here."""
    simulated = _apt("install", "-s", "--no-install-recommends", "krb5-kdc", "krb5-admin-server", folder=folder)
    return re.findall(r"^Inst (\S+)", simulated, re.MULTILINE)


def gssapi_path(folder: Path) -> str | None:
    """Return the folder from which ``gssapi`` is imported, None where it is installed. Raises NotHere."""
    try:
        import gssapi  # noqa: F401
    except ImportError:
        root = _unpack(folder / "gssapi", "python3-gssapi", "python3-decorator")
        packages = root / "usr/lib/python3/dist-packages"
        if not any(packages.glob(f"gssapi/raw/*.{sys.implementation.cache_tag}-*.so")):
            raise NotHere("gssapi is not installed, and Debian's is for another Python") from None
        return str(packages)
    return None


class Kdc:
    """A running KDC. ``conf`` is the krb5.conf of its realm."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.conf = folder, folder / "krb5.conf"
        if all(shutil.which(p, path=f"{os.environ['PATH']}:/usr/sbin") for p in PROGRAMS):
            self.root: Path | None = None
        else:
            folder.mkdir(exist_ok=True)
            try:
                needed = _needed(folder)
            except (NotHere, FileNotFoundError):
                needed = ["krb5-kdc"]  # the lists are fetched with it; then ask again
                _unpack(folder / "lists", *needed)
                needed = _needed(folder)
            self.root = _unpack(folder / "debian", *needed)
        (port,) = free_ports(1)
        self.port = port
        self._write()
        self._run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        self.process = subprocess.Popen(
            [self._program("krb5kdc"), "-n"], env=self._environment(), stdout=subprocess.DEVNULL,
            stderr=(folder / "kdc.log").open("wb"),
        )  # fmt: skip
        end = time.monotonic() + 20
        while not _answers(port):
            if time.monotonic() > end or self.process.poll() is not None:
                raise NotHere(f"krb5kdc does not start: {(folder / 'kdc.log').read_text()[-200:]}")
            time.sleep(0.05)

    def _write(self) -> None:
        modules = f"\n[dbmodules]\n db_module_dir = {next(self.root.rglob('kdb/db2.so')).parent}" if self.root else ""
        self.conf.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self.port}\n }}{modules}\n",
            encoding="utf-8",
        )
        (self.folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{self.port}\n kdc_tcp_listen = 127.0.0.1:{self.port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {self.folder}/principal\n"
            f"  key_stash_file = {self.folder}/stash\n  acl_file = {self.folder}/acl\n }}\n",
            encoding="utf-8",
        )

    def _environment(self) -> dict[str, str]:
        own = {"KRB5_CONFIG": str(self.conf), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}
        if self.root is not None:
            own["LD_LIBRARY_PATH"] = os.pathsep.join(sorted({str(p.parent) for p in self.root.rglob("lib*.so*")}))
        return os.environ | own

    def _program(self, name: str) -> str:
        if self.root is not None:
            return str(self.root / "usr/sbin" / name)
        return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") or name

    def _run(self, name: str, *arguments: str) -> None:
        command = [self._program(name), *arguments]
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotHere(f"{name}: {done.stderr.strip()}")

    def keytab(self, principal: str) -> Path:
        """Make a principal and return a keytab that holds it alone."""
        file = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-q", f"addprinc -randkey {principal}")
        self._run("kadmin.local", "-q", f"ktadd -k {file} {principal}")
        return file

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(10)


def _answers(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set variables of this process for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
