"""What spark-submit starts: job.sql of this package. Its arguments go to `flinkddl run`, behind those of arguments.txt.

Python 3.11 or later is all that must be there. flinkddl and what it imports come out of the archive that lies beside
this file (or was unpacked beside it, as YARN and executors have it); where there is none, they are installed.
"""

import atexit
import os
import shutil
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

MADE_FOR = "%%{python}"
WORKERS: str = "%%{has_workers}"  # whether Spark's executors run Python too


def folder() -> Path:
    """Return where this package lies; out of job.jar it is laid into the working folder first."""
    here = Path(__file__).resolve().parent
    if here.is_dir():
        return here
    target = Path(tempfile.mkdtemp(prefix="package-", dir="."))
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    with zipfile.ZipFile(here) as jar:
        jar.extractall(target, [name for name in jar.namelist() if name.startswith("package/")])
    return target.resolve() / "package"


FOLDERS = (folder(), Path.cwd())


def beside(name: str) -> Path | None:
    """Return a file of the package: beside this one, or where Spark has put it."""
    return next((folder / name for folder in FOLDERS if (folder / name).exists()), None)


def use_archive() -> list[str]:
    """Put the package's own modules before everything that is installed; return arguments that tell Python workers."""
    unpacked, archive = beside("python/flinkddl"), beside("python.tar.gz")
    if unpacked is None and archive is None:
        return []
    here = f"{sys.version_info[0]}.{sys.version_info[1]} {sysconfig.get_platform()}"
    if here != MADE_FOR:
        sys.exit(
            f"python.tar.gz was made for Python {MADE_FOR}, this is {here} ({sys.executable}): name another Python"
            " by PYSPARK_PYTHON, or make the package where the job will run"
        )
    modules = unpacked.parent if unpacked else Path(tempfile.mkdtemp(prefix="flinkddl-"))
    if unpacked is None:
        atexit.register(shutil.rmtree, modules, ignore_errors=True)
        with tarfile.open(str(archive)) as packed:
            packed.extractall(modules)
    sys.path.insert(0, str(modules))
    told = ["--conf", f"spark.executorEnv.PYTHONPATH=./python{os.pathsep}{modules}"]
    if WORKERS == "True" and not Path(__file__).is_file():  # run out of job.jar: nobody else has told Spark
        told += ["--conf", f"spark.archives={archive}#python"]
    return told


def use_functions() -> list[str]:
    """Say where the jars of Java functions lie, if there are any; return arguments that let their classes run."""
    listed = beside("functions.txt")
    if listed is None:
        return []
    jars = str(beside("functions") or listed.parent)  # some put all files into one folder
    os.environ["FLINKDDL_PACKAGED_JARS"] = jars
    return ["--allow-jar", jars, "--conf", f"spark.flinkddl.jars.folder={jars}"]


def use_settings() -> None:
    """Take the settings of job.env that the environment has not."""
    settings = beside("job.env")
    for line in settings.read_text(encoding="utf-8").splitlines() if settings else ():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            os.environ.setdefault(name, value)


def main() -> int:
    """Run the job; return the exit code of `flinkddl run`."""
    if "FLINKDDL_PID_FILE" in os.environ:  # whoever stops the job cleanly sends SIGTERM to this process
        Path(os.environ["FLINKDDL_PID_FILE"]).write_text(str(os.getpid()), encoding="utf-8")
    use_settings()
    told = [*use_archive(), *use_functions()]
    from flinkddl.cli.main import main as flinkddl

    fixed = beside("arguments.txt")
    arguments = fixed.read_text(encoding="utf-8").splitlines() if fixed else []
    return flinkddl(["run", str(beside("job.sql")), *told, *arguments, *sys.argv[1:]])


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.exit(code)
