"""Short builders of statement trees, so that these tests need no parser."""

from sqlglot import exp

from flinkddl.diagnostics import SourceText
from flinkddl.dialect import nodes

SOURCE = SourceText("t.sql", "")


def ident(name):
    return exp.to_identifier(name, quoted=True)


def text(value):
    return exp.Literal.string(value)


def table(name):
    parts = name.split(".")
    return exp.Table(**dict(zip(("this", "db", "catalog"), map(ident, reversed(parts)), strict=False)))


def options(mapping):
    return [nodes.Option(this=text(k), expression=text(v)) for k, v in mapping.items()]


def create(name, **args):
    args.setdefault("options", options({"connector": "datagen"}))
    return nodes.CreateTable(this=table(name), mode=args.pop("mode", "CREATE"), **args)
