"""How test sessions start: small, and with the quick compiler only, since most queries run for less than a second."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=400m -XX:+UseSerialGC"
"""Options of every Java here: C2 would spend more processor time on optimising than such runs ever get back.

Without C2 Java keeps 48 MB for compiled code, which the generated classes of some hundred queries fill: it then sweeps
(a thread of its own, an eighth of the JVM's time) and interprets what it threw away. Their metadata, some 230 MB at the
end, would ask for a full collection each time it is at its limit.
"""

SHORT_LIVED = {
    "spark.driver.memory": "2g",
    "spark.default.parallelism": "2",
    "spark.driver.extraJavaOptions": QUICK,
}
SHARED = SHORT_LIVED | {"spark.driver.extraJavaOptions": f"{QUICK} -Xms1g -Xmn600m -Xshare:auto"}
"""Of the session that a test process keeps: its Java ends last, so others write the archive (class_archive.py).

A collection costs 50 ms whatever there is to collect: it has room for a second or two of work between them.
"""

VIEWFS = "viewfs://test/state"
"""A second Hadoop file system beside this machine's: one that Python cannot open, over ``viewfs_folder``."""


@cache
def viewfs_folder() -> Path:
    """Make the folder that VIEWFS shows; it goes with this process."""
    folder = tempfile.mkdtemp(prefix="flinkddl-viewfs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def viewfs_conf() -> dict[str, str]:
    """Return the Spark settings that make VIEWFS known."""
    return {"spark.hadoop.fs.viewfs.mounttable.test.link./state": viewfs_folder().as_uri()}
