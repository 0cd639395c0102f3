"""The registry documents are JSON Schema, and our own keywords are used as the loader reads them."""

import json
import re
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import flinkddl
from flinkddl.diagnostics import SourceText, codes
from flinkddl.options import installed, registry, values
from flinkddl.options.resolved import ResolvedOptions
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.print_json import print_json

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


# ---- options that are mapped are read ------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    p for where in ("tests/cases/jobs/*.sql", "tests/cases/seeds/*.sql", "samples/*/job.sql") for p in ROOT.glob(where)
]
# what those scripts have none of
MORE = """
CREATE TABLE a (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://h/d',
  'table-name' = 't', 'scan.partition.column' = 'k', 'scan.partition.num' = '2', 'scan.partition.lower-bound' = '1',
  'scan.partition.upper-bound' = '9');
CREATE TABLE u (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 't',
  'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json', 'value.format' = 'json',
  'scan.bounded.mode' = 'timestamp', 'scan.bounded.timestamp-millis' = '1');
CREATE TABLE v (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'v',
  'properties.bootstrap.servers' = 'h:1', 'key.format' = 'json', 'value.format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'x');
CREATE TABLE c (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://h/d',
  'table-name' = 'u');
CREATE TABLE r (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'redis', 'host' = 'h');
INSERT INTO r SELECT k FROM v;
INSERT INTO c SELECT k FROM a;
INSERT INTO c SELECT k FROM v;
INSERT INTO v SELECT k FROM u;
"""
CHOICES = {"connector", "format", "key.format", "value.format"}  # read by the validator, which takes the document
# read as texts, so that what is written is told from a default: shown by what they change
AS_TEXT = {"properties.group.id", "scan.watermark.idle-timeout"}
CODE = "".join(p.read_text() for s in ("*.py", "*.java") for p in Path(flinkddl.__file__).parent.rglob(s))


@pytest.fixture(scope="module")
def read():
    """The options that were asked for, by connector, while all these scripts were lowered."""
    found = defaultdict(set)
    plain = ResolvedOptions.__getitem__

    def asked(self, key):
        found[self.connector].add(key)
        return plain(self, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ResolvedOptions, "__getitem__", asked)
        for text in (*(p.read_text(encoding="utf-8") for p in SCRIPTS), MORE):
            names = re.findall(r"\$\{(\w+)", text)
            compile_script(SourceText("s.sql", text), variables=dict.fromkeys(names, "h:1"))
    return found


def mapped(document):
    return {key for key, spec in document.options.items() if spec.use == "mapped" and len(spec.choices) != 1}


@pytest.mark.parametrize("name", [n for n in registry.names("connector") if n != "dataframe"])  # none in SQL: FD244
def test_every_mapped_option_is_read(name, read):
    """By its own connector, when a job is lowered: one that nothing reads is ignored with a note, or refused."""
    assert mapped(registry.connector(name)) - CHOICES - AS_TEXT - read[name] == set()


@pytest.mark.parametrize("name", registry.names("format"))
def test_every_mapped_option_of_a_format_is_named(name):
    """In a module or a kernel: formats hand all their options on, so that reading cannot be watched here."""
    assert [k for k in mapped(registry.format(name)) if not re.search(f"[\"']{re.escape(k)}[\"']", CODE)] == []


WINDOW = """
CREATE TABLE k (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = 'h:1', 'scan.startup.mode' = 'earliest-offset', {option});
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE k, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
"""


@pytest.mark.parametrize("option", sorted(AS_TEXT))
def test_an_option_read_as_text_changes_the_job(option):
    def job(value):
        found = compile_script(SourceText("s.sql", WINDOW.format(option=f"'{option}' = '{value}'")))
        return print_json(a.job for a in found.actions if isinstance(a, Start))

    assert job("1 s") != job("2 s")
