"""``flinkddl package``: what lies in the folder, what of secrets does not, what is refused."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from flinkddl.cli.main import main
from flinkddl.deploy import distributions
from flinkddl.deploy.references import references, secrets_in_clear
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.machine.jars import locked_artifacts
from tests.support.java_udf import needs_javac, udf_jar

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SECURITY = ROOT / "samples/security/job.sql"
SECRETS = ("KAFKA_PASSWORD", "KAFKA_TRUSTSTORE_PASSWORD", "KAFKA_USER")
VALUES = {"KAFKA_SECURE_SERVERS": "k:9093", "KAFKA_TRUSTSTORE": "/etc/trust.p12"}


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of jars with a class and a service each."""
    folder = tmp_path_factory.mktemp("jars")
    for artifact in [a for role in ("spark", "datafaker", "flink") for a in locked_artifacts(role)]:
        with zipfile.ZipFile(folder / artifact.file(artifact.pins[0]), "w") as jar:
            jar.writestr(f"{artifact.name}.class", b"")
            jar.writestr("META-INF/services/a.Service", artifact.name)
            jar.writestr("META-INF/A.SF", b"")
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Path:
    out = tmp_path_factory.mktemp("out") / "package"
    given = VALUES | {name: f"s3cret-{name}" for name in SECRETS}
    variables = [word for key, value in given.items() for word in ("-D", f"{key}={value}")]
    assert main(["package", str(SECURITY), *variables, "--out", str(out), "--jars", str(jars), "--strict"]) == 0
    return out


def test_checksums_cover_every_file(package: Path) -> None:
    listed = dict(reversed(line.split("  ")) for line in (package / "SHA256SUMS").read_text().splitlines())
    there = {p.relative_to(package).as_posix() for p in package.rglob("*") if p.is_file()} - {"SHA256SUMS"}
    assert set(listed) == there
    assert all(hashlib.sha256((package / name).read_bytes()).hexdigest() == digest for name, digest in listed.items())


def test_no_secret_is_in_any_file(package: Path) -> None:
    assert not [p.name for p in package.rglob("*") if p.is_file() and b"s3cret-" in p.read_bytes()]
    assert (package / "job.sql").read_text() == SECURITY.read_text()
    assert (package / "job.env").read_text() == "".join(f"{k}={v}\n" for k, v in sorted(VALUES.items()))
    assert all(f"`{name}`" in (package / "README.md").read_text() for name in SECRETS)


def test_no_placeholder_is_left(package: Path) -> None:
    texts = [p for p in package.rglob("*") if p.suffix in (".md", ".sh", ".py", ".yaml", ".conf", ".service", "")]
    assert not [p.name for p in texts if p.is_file() and "%%" in p.read_text()]
    assert subprocess.run(["bash", "-n", str(package / "submit.sh")], check=False).returncode == 0


def test_arguments_are_those_of_every_run(package: Path) -> None:
    assert (package / "arguments.txt").read_text().splitlines() == ["--strict"]


def test_the_jar_holds_the_package(package: Path) -> None:
    with zipfile.ZipFile(package / "job.jar") as archive:
        names = set(archive.namelist())
        assert archive.read("package/main.py") == (package / "main.py").read_bytes()
        services = archive.read("META-INF/services/a.Service").decode().split()
    inside = {f"package/{name}" for name in ("main.py", "job.sql", "job.env", "arguments.txt", "python.tar.gz")}
    assert inside | {"__main__.py", "flinkddl/Functions.class"} <= names
    artifacts = [artifact.name for artifact in locked_artifacts("spark")]
    assert {f"{name}.class" for name in artifacts} <= names
    assert sorted(services) == sorted(artifacts)
    assert "META-INF/A.SF" not in names


@pytest.mark.parametrize("program", ["main.py", "job.jar"])
def test_the_archive_is_all_that_python_needs(program: str, package: Path, tmp_path: Path) -> None:
    """The program finds flinkddl in the archive alone: no site-packages, no source tree."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | dict.fromkeys(SECRETS, "x")
    command = [sys.executable, "-I", "-S", str(package / program), "--help"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage: flinkddl run" in done.stdout


def test_jars_that_only_some_jobs_need_lie_with_those(package: Path, jars: Path, tmp_path: Path) -> None:
    script = tmp_path / "job.sql"
    script.write_text("""CREATE TABLE t (a STRING) WITH ('connector' = 'faker', 'fields.a.expression' = 'x');
      CREATE TABLE b (a STRING) WITH ('connector' = 'blackhole'); INSERT INTO b SELECT a FROM t;""")
    out = tmp_path / "package"
    assert main(["package", str(script), "--out", str(out), "--jars", str(jars)]) == 0
    more = {a.file(a.pins[0]) for a in locked_artifacts("datafaker")}
    assert {p.name for p in (out / "jars").iterdir()} - {p.name for p in (package / "jars").iterdir()} == more


def test_another_python_is_told(package: Path, tmp_path: Path) -> None:
    text = (package / "main.py").read_text()
    changed = tmp_path / "main.py"
    changed.write_text(text.replace('MADE_FOR = "3.', 'MADE_FOR = "2.'))
    (tmp_path / "python.tar.gz").touch()
    done = subprocess.run([sys.executable, str(changed)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "python.tar.gz was made for Python 2." in done.stderr


def test_the_wheel_installs_and_is_packaged_again(package: Path, tmp_path: Path) -> None:
    """From an installed wheel the same wheel is made: file by file, but for the date of nothing."""
    wheel = next(package.glob("*.whl"))
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    code = "from pathlib import Path; from flinkddl.deploy import distributions as d;"
    code += "print(d.write_wheel(d.installed('flinkddl'), Path('.')))"
    again = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(site)}, cwd=tmp_path, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(tmp_path / again.stdout.strip()) as second:
        assert first.testzip() is None
        names = first.namelist()
        assert {"flinkddl/deploy/templates/main.py", "flinkddl/jvm/flinkddl-functions.jar"} <= set(names)
        assert {n: first.read(n) for n in names} == {n: second.read(n) for n in second.namelist()}


@pytest.mark.parametrize(
    ("line", "clear"),
    [
        ("'properties.ssl.truststore.password' = 'changeit'", True),
        ("'properties.ssl.truststore.password' = '${TRUST}'", False),
        ("'properties.ssl.truststore.password' = '${TRUST:-changeit}'", True),
        ("'properties.sasl.jaas.config' = 'x.PlainLoginModule required username=\"a\" password=\"${P}\";'", False),
        ("'properties.sasl.jaas.config' = 'x.PlainLoginModule required username=\"${U}\" password=\"p\";'", True),
        ("'properties.sasl.jaas.config' = 'x.Krb5LoginModule required useKeyTab=true keyTab=\"/k\";'", False),
        ("'properties.sasl.jaas.config' = '${JAAS}'", False),
        ("'url' = 'jdbc:postgresql://u:${P}@h/db'", False),
        ("'url' = 'jdbc:postgresql://u:pass@h/db'", True),
        ("'url' = 'jdbc:postgresql://h/db?user=u&password=${P}'", False),
        ("'avro-confluent.properties' = 'basic.auth.user.info:${U}'", False),
        ("'avro-confluent.properties' = 'basic.auth.user.info:u,a:b'", True),
        ("-- 'password' = 'old'", True),
        ("'topic' = 'passwords'", False),
    ],
)  # fmt: skip
def test_secrets_in_clear_are_refused(line: str, clear: bool) -> None:
    found = secrets_in_clear(SourceText("job.sql", f"CREATE TABLE t (a INT) WITH (\n  {line}\n);"))
    assert [d.code for d in found] == ["FD870"] * clear
    assert all(d.span and d.span.source.text[d.span.start] == "'" for d in found)


def test_a_variable_is_a_secret_by_name_place_or_value() -> None:
    script = "'topic' = '${T}', 'x' = '${MY_API_KEY}', 'password' = '${P}', 'url' = '${URL}', 'a' = '${D:-1}' -- ${C}"
    found = references(script, {"T": "t", "P": "p", "MY_API_KEY": "k", "URL": "jdbc:x://u:p@h"})
    assert found.settings == {"T": "t"}
    assert found.secrets == ("MY_API_KEY", "P", "URL")


def test_the_folder_says_what_python_workers_do_and_takes_their_modules(
    tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_rules.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    (tmp_path / "job.sql").write_text(
        "CREATE TABLE t (a BIGINT) WITH ('connector' = 'blackhole');"
        "CREATE FUNCTION twice AS 'shop_rules.twice' LANGUAGE PYTHON; INSERT INTO t SELECT twice(1);"
    )
    monkeypatch.syspath_prepend(tmp_path)
    given = ["--allow-python", "shop_rules", "--py-files", str(tmp_path / "shop_rules.py"), "--jars", str(jars)]
    assert main(["package", str(tmp_path / "job.sql"), "--out", str(tmp_path / "out"), *given]) == 0
    assert "need it too, for shop_rules.twice" in (tmp_path / "out/README.md").read_text()
    assert 'workers=(--archives "$here/python.tar.gz#python")' in (tmp_path / "out/submit.sh").read_text()
    assert (tmp_path / "out/arguments.txt").read_text().splitlines() == ["--allow-python", "shop_rules"]
    with tarfile.open(tmp_path / "out/python.tar.gz") as archive:
        assert "shop_rules.py" in archive.getnames()


JAVA = """
ADD JAR '{jar}';
CREATE TABLE t (a BIGINT) WITH ('connector' = 'blackhole');
CREATE FUNCTION counted AS 'com.github.nexmark.flink.udf.CountChar';
INSERT INTO t SELECT counted('aba', 'a');
"""


@needs_javac
def test_jars_of_java_functions_lie_in_a_folder_of_their_own(
    tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jar = shutil.copyfile(udf_jar("nexmark"), tmp_path / "nexmark.jar")
    (tmp_path / "job.sql").write_text(JAVA.format(jar=jar))
    out = tmp_path / "out"
    command = ["package", str(tmp_path / "job.sql"), "--jars", str(jars), "--out", str(out)]
    assert main(command) == 1
    assert "FD524" in capsys.readouterr().err
    assert main([*command, "--allow-jar", str(jar)]) == 0
    names = {"nexmark.jar", *(a.file(a.pins[0]) for a in locked_artifacts("flink"))}
    assert (
        {p.name for p in (out / "functions").iterdir()} == names == set(Path(out, "functions.txt").read_text().split())
    )
    assert not names & {p.name for p in (out / "jars").iterdir()}
    assert "functions/nexmark.jar" in (out / "SHA256SUMS").read_text()
    with zipfile.ZipFile(out / "job.jar") as whole:
        assert {"package/functions.txt", "package/functions/nexmark.jar"} <= set(whole.namelist())
    jar.unlink()
    monkeypatch.setenv("FLINKDDL_PACKAGED_JARS", str(out / "functions"))
    assert main(["check", str(out / "job.sql")]) == 0


def test_two_jars_of_one_name_are_not_packaged(tmp_path: Path, jars: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        with zipfile.ZipFile(tmp_path / folder / "f.jar", "w") as jar:
            jar.writestr(folder, "")
    both = "".join(f"ADD JAR '{tmp_path}/{folder}/f.jar';" for folder in ("a", "b"))
    (tmp_path / "job.sql").write_text(both + JOB.format(""))
    assert main(["package", str(tmp_path / "job.sql"), "--jars", str(jars), "--out", str(tmp_path / "out")]) == 3
    assert "FD871" in capsys.readouterr().err


JOB = "CREATE TABLE t (a INT) WITH ('connector' = 'blackhole'{}); INSERT INTO t SELECT 1;"


@pytest.mark.parametrize(
    ("script", "options", "code", "said"),
    [
        (JOB.format("") + "-- 'password' = 'x'", (), 3, "FD870"),
        (JOB.format(", 'nope' = '1'"), (), 1, "FD212"),
        (JOB.format(""), ("--allow-python", "shop.functions"), 3, "FD871"),
        (JOB.format(""), ("--jars", "/nowhere"), 3, "FD802"),
        (
            "CREATE FUNCTION f AS 'shop_rules.twice' LANGUAGE PYTHON;"
            + JOB.format("").replace("1;", "CAST(f(1) AS INT);"),
            (),
            1,
            "FD670",
        ),
    ],
)
def test_what_is_refused_writes_nothing_that_runs(
    script: str,
    options: tuple[str, ...],
    code: int,
    said: str,
    tmp_path: Path,
    jars: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "job.sql").write_text(script)
    (tmp_path / "shop_rules.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    command = ["package", str(tmp_path / "job.sql"), "--out", str(tmp_path / "out"), "--jars", str(jars), *options]
    assert main(command) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out" / "SHA256SUMS").exists()


def test_a_folder_that_holds_something_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.sql").write_text(JOB.format(""))
    assert main(["package", str(tmp_path / "job.sql"), "--out", str(tmp_path)]) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["job.sql"]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributions, "distributions", lambda name: [])
    with pytest.raises(FlinkDdlError, match="FD872"):
        distributions.needed()
