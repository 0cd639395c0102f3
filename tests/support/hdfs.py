"""A real HDFS for tests: one name node and one data node in a JVM of their own, ended with whoever started it."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.jvm.build import spark_jars
from flinkddl.runtime.machine.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN = """
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

public class Dfs {
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, args[0]);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
        cluster.waitActive();
        System.out.println("hdfs://127.0.0.1:" + cluster.getNameNodePort());
        while (System.in.read() >= 0) { }
        Runtime.getRuntime().halt(0);
    }
}
"""


@contextmanager
def hdfs_cluster() -> Iterator[str]:
    """Start HDFS; yield its URI. Skips the test where Hadoop's test jar (56 MB) cannot be had."""
    from jgo.maven import MavenContext

    version = next(p for p in spark_jars().glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    try:
        project = MavenContext().project("org.apache.hadoop", "hadoop-client-minicluster")
        jar = project.at_version(version).artifact().resolve()
    except (RuntimeError, OSError) as error:
        pytest.skip(f"no hadoop-client-minicluster: {error}")
    with tempfile.TemporaryDirectory(prefix="flinkddl-hdfs-") as folder:
        main = Path(folder, "Dfs.java")
        main.write_text(MAIN, encoding="utf-8")
        command = [find_java(), "-Xmx300m", "-XX:TieredStopAtLevel=1", "-cp", f"{jar}:{spark_jars()}/*", str(main)]
        process = subprocess.Popen(
            [*command, f"{folder}/data"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield next(line for line in map(bytes.decode, process.stdout) if line.startswith("hdfs:")).strip()
        finally:
            process.stdin.close()  # the kernel does so too, however this process ends
            process.wait(30)
