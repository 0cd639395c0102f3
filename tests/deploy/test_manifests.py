"""What a package tells Kubernetes, its two Spark operators, Docker and systemd, held against what they take."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from flinkddl.cli.main import main
from flinkddl.runtime.machine.jars import locked_artifacts

ROOT = Path(__file__).parents[2]
SCHEMAS = json.loads((ROOT / "tests/data/kubernetes/schemas.json").read_text())
SECRETS = ("KAFKA_PASSWORD", "KAFKA_TRUSTSTORE_PASSWORD", "KAFKA_USER")
VALUES = {"KAFKA_SECURE_SERVERS": "k:9093", "KAFKA_TRUSTSTORE": "/etc/trust.p12", **dict.fromkeys(SECRETS, "s3cret")}
OPERATOR = {  # spark.apache.org/v1: what of its CRD we use, beside Kubernetes' own PodTemplateSpec
    "pyFiles", "runtimeVersions.sparkVersion", "sparkConf.*", "driverSpec.podTemplateSpec",
    "applicationTolerations.resourceRetainPolicy=OnFailure",
    "applicationTolerations.restartConfig.restartPolicy=OnFailure",
    "applicationTolerations.restartConfig.maxRestartAttempts",
}  # fmt: skip


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("Package")
    for artifact in locked_artifacts("spark"):
        zipfile.ZipFile(folder / artifact.file(artifact.pins[0]), "w").close()
    shutil.copyfile(ROOT / "samples/security/job.sql", folder / "Big_Payments.sql")
    variables = [word for key, value in VALUES.items() for word in ("-D", f"{key}={value}")]
    command = ["package", str(folder / "Big_Payments.sql"), *variables, "--jars", str(folder)]
    assert main([*command, "--out", str(folder / "out"), "--image", "images.example/payments:3"]) == 0
    return folder / "out"


def faults(kind: str, document: Any) -> list[str]:
    schema = {"$ref": f"#/definitions/{SCHEMAS['kinds'][kind]}", "definitions": SCHEMAS["definitions"]}
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(document)]


def documents(package: Path, name: str) -> list[Any]:
    return list(yaml.safe_load_all((package / "kubernetes" / name).read_text()))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("access.yaml", ["ServiceAccount", "Role", "RoleBinding"]),
        ("driver.yaml", ["Pod"]),
        ("kubeflow.yaml", ["SparkApplication"]),
    ],
)
def test_a_manifest_is_what_its_schema_says(name: str, kinds: list[str], package: Path) -> None:
    found = documents(package, name)
    assert [document["kind"] for document in found] == kinds
    for document in found:
        assert faults(document["kind"], document) == []
        assert document["metadata"].get("name", "big-payments") == "big-payments"
        assert faults(document["kind"], {**document, "speck": {}}) != []


def test_the_schemas_find_a_mistake_deep_inside(package: Path) -> None:
    [pod], [application] = documents(package, "driver.yaml"), documents(package, "kubeflow.yaml")
    pod["spec"]["containers"][0]["envFrom"][0]["secretRef"]["optionnal"] = True
    application["spec"]["driver"]["lifecycle"]["preStop"]["exec"]["commands"] = []
    assert "optionnal" in str(faults("Pod", pod))
    assert "commands" in str(faults("SparkApplication", application))


def leaves(value: Any, path: str = "") -> set[str]:
    if path == "driverSpec.podTemplateSpec" or not isinstance(value, dict):
        return {path, f"{path}={value}"} if isinstance(value, str) else {path}
    return set().union(*(leaves(v, f"{path}.{key}".lstrip(".")) for key, v in value.items()))


def test_apache_s_operator(package: Path) -> None:
    [found] = documents(package, "spark-application.yaml")
    assert (found["apiVersion"], found["kind"]) == ("spark.apache.org/v1", "SparkApplication")
    conf = found["spec"].pop("sparkConf")
    assert all(isinstance(value, str) for value in conf.values())
    known = leaves(found["spec"])
    assert {name.partition("=")[0] for name in OPERATOR - {"sparkConf.*"}} == {name.partition("=")[0] for name in known}
    assert {name for name in OPERATOR if "=" in name} <= known
    assert faults("PodTemplateSpec", found["spec"]["driverSpec"]["podTemplateSpec"]) == []


def test_secrets_are_references_and_the_same_stop_everywhere(package: Path) -> None:
    texts = {p.name: p.read_text() for p in (package / "kubernetes").iterdir()}
    assert not [name for name, text in texts.items() if "s3cret" in text]
    pods = [
        documents(package, "driver.yaml")[0]["spec"]["containers"][0],
        documents(package, "kubeflow.yaml")[0]["spec"]["driver"],
    ]
    pods.append(
        documents(package, "spark-application.yaml")[0]["spec"]["driverSpec"]["podTemplateSpec"]["spec"]["containers"][
            0
        ]
    )
    for pod in pods:
        assert pod["envFrom"] == [{"secretRef": {"name": "big-payments-secrets", "optional": False}}]
        assert pod["env"] == [{"name": "FLINKDDL_PID_FILE", "value": "/tmp/flinkddl.pid"}]
    assert len({str(pod["lifecycle"]) for pod in pods}) == 1


def test_what_stops_a_pod_waits_for_the_end(package: Path, tmp_path: Path) -> None:
    command = documents(package, "driver.yaml")[0]["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    end, pid = tmp_path / "ended", tmp_path / "pid"
    job = subprocess.Popen(
        ["bash", "-c", f"trap 'sleep 1; touch {end}; exit' TERM; echo $$ > {pid}; while :; do sleep 0.1; done"]
    )
    while not (pid.exists() and pid.read_text()):
        assert job.poll() is None
    # whoever ends must be waited for, or it stays to be seen
    waiter = subprocess.Popen([*command[:2], command[2].replace("/tmp/flinkddl.pid", str(pid))])
    job.wait(20)
    assert waiter.wait(20) == 0
    assert end.exists()


def test_settings_for_spark_s_own_master(package: Path) -> None:
    lines = [line for line in (package / "kubernetes/spark.conf").read_text().splitlines() if not line.startswith("#")]
    conf = dict(line.split() for line in lines)
    assert conf["spark.kubernetes.container.image"] == "images.example/payments:3"
    [pod] = documents(package, "driver.yaml")
    assert conf["spark.kubernetes.driver.podTemplateContainerName"] == pod["spec"]["containers"][0]["name"]
    assert conf["spark.kubernetes.authenticate.driver.serviceAccountName"] == pod["spec"]["serviceAccountName"]


def test_the_image_copies_what_is_there(package: Path) -> None:
    text = (package / "Dockerfile").read_text().replace("\\\n", "")
    copied = [word for line in re.findall(r"^COPY (.*)$", text, re.M) for word in shlex.split(line)[:-1]]
    assert copied
    assert all((package / name).exists() for name in copied if name != "functions*")  # Java functions', if it has any
    assert {"main.py", "job.sql", "job.env", "arguments.txt", "jars/"} <= set(copied)
    assert not re.search(r"^(ENV|ARG) .*(PASSWORD|SECRET)", text, re.M)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_takes_the_unit(package: Path, tmp_path: Path) -> None:
    unit = tmp_path / "big-payments.service"
    unit.write_text((package / "job.service").read_text())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    unit.write_text(unit.read_text().replace("KillMode=mixed", "KillMood=mixed"))
    wrong = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert "KillMood" in wrong.stderr
