"""Makes ``tests/data/kubernetes/schemas.json``: what the manifests of a package are held against.

    pip install kubernetes-validate==1.37.0 kubeflow-spark-api==2.4.0 && python -m tests.deploy.schemas

Kubernetes' own OpenAPI schemas of 1.37, strict, and Kubeflow's of ``sparkoperator.k8s.io/v1beta2``, both Apache-2.0 and
without their descriptions. The CRD of Apache's operator comes with no package; what we use of it is in the test.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "data/kubernetes/schemas.json"
KINDS = {
    "Pod": "io.k8s.api.core.v1.Pod",
    "PodTemplateSpec": "io.k8s.api.core.v1.PodTemplateSpec",
    "ServiceAccount": "io.k8s.api.core.v1.ServiceAccount",
    "Role": "io.k8s.api.rbac.v1.Role",
    "RoleBinding": "io.k8s.api.rbac.v1.RoleBinding",
}


def _refs(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_refs, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
    return own.union(*map(_refs, schema.values()))


def _bare(schema: Any, strict: bool) -> Any:
    """Return a schema without words; with ``strict`` an object takes no property that it does not name."""
    if isinstance(schema, list):
        return [_bare(item, strict) for item in schema]
    if not isinstance(schema, dict):
        return schema
    words = ("description", "title", "default")
    out = {k: _bare(v, strict) for k, v in schema.items() if not (k in words and not isinstance(v, dict))}
    if "$ref" in out and isinstance(out["$ref"], str):
        out["$ref"] = "#/definitions/" + out["$ref"].rpartition("/")[2]
    if strict and out.get("type") == "object" and "properties" in out:
        out["additionalProperties"] = False
    return out


def main() -> None:
    from kubeflow_spark_api.models import SparkV1beta2SparkApplication as Application

    folder = files("kubernetes_validate") / "kubernetes-json-schema/v1.37.0-local-strict/_definitions.json"
    known = json.loads(folder.read_text())["$defs"]
    found: dict[str, Any] = {}
    wanted = set(KINDS.values())
    while wanted:
        name = wanted.pop()
        found[name] = _bare(known[name], False)
        wanted |= _refs(found[name]) - set(found)
    kubeflow = Application.model_json_schema(by_alias=True)
    found |= {name: _bare(schema, True) for name, schema in kubeflow.pop("$defs").items()}
    found["SparkApplication"] = _bare(kubeflow, True)
    text = json.dumps(
        {"$comment": __doc__, "kinds": KINDS | {"SparkApplication": "SparkApplication"}, "definitions": found},
        sort_keys=True,
    )
    TARGET.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
