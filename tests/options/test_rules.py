"""Our evaluation of the registry's rules agrees with jsonschema on every rule and any options."""

import itertools
import random

import pytest
from jsonschema import Draft202012Validator

from flinkddl.options import registry, rules

DOCUMENTS = [d for kind in ("connector", "format") for n in registry.names(kind) if (d := getattr(registry, kind)(n))]
RULES = {f"{d.name}-{r.id}-{i}": r.schema for d in DOCUMENTS for i, r in enumerate(d.rules)}
ALWAYS = ["", "a", "ab", True, False, 0, 1, -1, 7, [], ["a"], ["a", "b"], "true", "x" * 70_000]


def constants(schema):
    """Every value a schema compares with."""
    if isinstance(schema, dict):
        for name, inner in schema.items():
            if name == "const":
                yield inner
            elif name == "enum":
                yield from inner
            else:
                yield from constants(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from constants(inner)


def names(schema):
    """Every option a schema speaks of."""
    if isinstance(schema, dict):
        for key, inner in schema.items():
            if key in ("properties", "dependentRequired"):
                yield from inner
            yield from inner if key == "required" else names(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from names(inner)


def instances(schema, how_many):
    draw = random.Random(1)
    keys = sorted(set(names(schema)))
    values = [
        *ALWAYS,
        *constants(schema),
        "partition:0,offset:42",
        "latest",
        "EXACTLY_ONCE",
        "org.x.ByteArrayDeserializer",
    ]
    yield {}
    yield from ({key: value} for key, value in itertools.product(keys, values))
    for _ in range(how_many):
        yield {key: draw.choice(values) for key in keys if draw.random() < 0.8}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_judged_as_jsonschema_judges_it(name):
    schema = RULES[name]
    validator = Draft202012Validator(schema)
    said = set()
    for instance in instances(schema, 60):
        assert rules.fits(schema, instance) == validator.is_valid(instance), instance
        said.add(rules.fits(schema, instance))
    assert True in said


@pytest.mark.parametrize("name", RULES)
def test_no_rule_needs_the_import_of_jsonschema(name):
    assert rules.simple(RULES[name])


@pytest.mark.parametrize(
    "schema",
    [
        {"multipleOf": 2},
        {"not": {"type": "object"}},
        {"properties": {"a": {"multipleOf": 2}}},
        {"anyOf": [{"type": "string"}]},
    ],
)
def test_other_keywords_are_left_to_jsonschema(schema):
    assert not rules.simple(schema)
    for instance in ({}, {"a": 3}, {"a": 4}):
        assert rules.fits(schema, instance) == Draft202012Validator(schema).is_valid(instance)
