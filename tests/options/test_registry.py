"""The registry documents are JSON Schema, and our own keywords are used as the loader reads them."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import flinkddl
from flinkddl.diagnostics import codes
from flinkddl.options import installed, registry, values

FOLDER = Path(str(files("flinkddl.options"))) / "registry"
PLACES = {p.name: p for p in sorted(FOLDER.iterdir()) if p.name != "elsewhere.json"}
for name, package in installed.CONNECTORS.items():
    PLACES[f"connector.{name}.json"] = Path(flinkddl.__file__).parents[1].joinpath(*package.split("."), "options.json")
NAMES = sorted(PLACES)
DOCUMENTS = [d for kind in ("connector", "format") for n in registry.names(kind) if (d := getattr(registry, kind)(n))]

OPTION = {
    "type": "object",
    "required": ["description", "kind", "type", "roles", "since", "spark"],
    "properties": {
        "kind": {"enum": sorted(values.KINDS)},
        "description": {"type": "string", "pattern": r"\.$"},
        "roles": {"type": "array", "items": {"enum": ["source", "sink"]}, "minItems": 1},
        "since": {"type": "string"},
        "aliases": {"type": "array", "items": {"type": "string"}},
        "deprecated": {"const": True},
        "instead": {"type": "string"},
        "unit": {"enum": ["milliseconds", "bytes"]},
        "spark": {
            "type": "object",
            "required": ["use"],
            "properties": {"use": {"enum": ["mapped", "ignored", "refused"]}, "note": {"type": "string"}},
            "additionalProperties": False,
            "if": {"properties": {"use": {"enum": ["ignored", "refused"]}}},
            "then": {"required": ["note"]},
        },
    },
    "dependentRequired": {"deprecated": ["instead"], "instead": ["deprecated"]},
    "allOf": [
        {"if": {"properties": {"kind": {"enum": [k]}}}, "then": {"required": ["unit"]}} for k in ("duration", "memory")
    ],
}
META = {
    "type": "object",
    "required": ["$schema", "$id", "title", "description", "document", "roles", "type", "properties"],
    "properties": {
        "document": {"enum": ["connector", "format", "shared"]},
        "properties": {"additionalProperties": OPTION},
        "patternProperties": {"additionalProperties": OPTION},
        "allOf": {
            "items": {
                "oneOf": [
                    {"required": ["$ref"], "properties": {"$ref": {"enum": NAMES}}, "additionalProperties": False},
                    {
                        "required": ["rule", "roles", "code", "message", "at"],
                        "properties": {"code": {"pattern": "^FD2"}},
                    },
                ]
            }
        },
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_document_is_json_schema_with_our_keywords(name):
    document = json.loads(PLACES[name].read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    jsonschema.validate(document, META)
    assert document["$id"] == name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: f"{d.kind}.{d.name}")
def test_defaults_fit_their_schema_and_rules_name_known_options(document):
    for spec in document.options.values():
        if spec.default is not None and spec.choices:
            assert spec.default in spec.choices
        for example in spec.examples:
            values.parse(spec.kind, example, spec.choices)
        if spec.instead:
            assert spec.instead in document.options
    for rule in document.rules:
        assert rule.code in codes.all_codes()
        for key in rule.at:
            assert document.spec(key), f"{rule.id} points at unknown option {key}"
    assert set(document.required) <= set(document.options)
