"""Processes and this machine, told apart from others of the same number and name."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import suppress
from pathlib import Path


def user_name() -> str:
    """Return the user of this process; its number in a container whose user has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def machine_name() -> str:
    """Return what tells this machine, its boot and its process numbers from others: containers have their own."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def began(pid: int) -> str:
    """Return when a process began (clock ticks since the boot); "" when there is none, or no /proc to ask.

    One that is dead, and that nobody has asked how it ended (a zombie), is none.
    """
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if len(words) < 20 or words[0] in "ZX" else words[19]
