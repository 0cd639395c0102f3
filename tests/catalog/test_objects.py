# ruff: noqa: E501 (tables read better as one line a case)
"""Objects, names and session settings; columns and types are tested through the parser."""

import pytest
from sqlglot import exp

from flinkddl.catalog import Catalog
from flinkddl.catalog.apply import apply
from flinkddl.catalog.model import ObjectPath
from flinkddl.catalog.settings import Settings
from flinkddl.dialect import nodes
from tests.catalog.trees import SOURCE, create, ident, options, table, text


def run(*statements):
    """Apply statements in order; return the catalog and the findings of the last one."""
    catalog, findings = Catalog(), ()
    for statement in statements:
        catalog, findings = apply(catalog, statement, SOURCE)
    return catalog, [d.code for d in findings]


def drop(kind, name, **args):
    return nodes.Drop(this=table(name), kind=kind, **args)


VIEW = nodes.CreateView(this=table("v"), expression=exp.select("1"))
DATABASE = nodes.CreateDatabase(this=table("shop"))
CATALOG = nodes.CreateCatalog(this=ident("c"), options=options({"type": "generic_in_memory"}))
SYSTEM = nodes.CreateFunction(this=table("F"), temporary=True, system=True, identifier=text("m.f"), language="PYTHON")

CASES = [
    ("create", [create("t")], []),
    ("twice", [create("t"), create("t")], ["FD304"]),
    ("if-not-exists", [create("t"), create("t", exists=True)], []),
    ("replace", [create("t"), create("t", mode="CREATE OR REPLACE")], []),
    ("replace-missing", [create("t", mode="REPLACE")], ["FD303"]),
    ("other-database", [create("nope.t")], ["FD302"]),
    ("other-catalog", [create("nope.d.t")], ["FD301"]),
    ("drop", [create("t"), drop("TABLE", "t")], []),
    ("drop-missing", [drop("TABLE", "t")], ["FD303"]),
    ("drop-if-exists", [drop("TABLE", "t", exists=True)], []),
    ("drop-temporary-needs-word", [create("t", temporary=True), drop("TABLE", "t")], ["FD314"]),
    ("drop-temporary", [create("t", temporary=True), drop("TABLE", "t", temporary=True)], []),
    ("drop-view-as-table", [VIEW, drop("TABLE", "v")], ["FD303"]),
    ("view-twice", [VIEW, VIEW], ["FD304"]),
    ("view-or-replace", [VIEW, nodes.CreateView(this=table("v"), replace=True, expression=exp.select("1"))], ["FD304"]),
    ("alter-temporary", [create("t", temporary=True), nodes.AlterTable(this=table("t"), action=nodes.AlterReset(expressions=[text("x")]))], ["FD314"]),
    ("database", [DATABASE, nodes.Use(kind="DATABASE", this=table("shop"))], []),
    ("drop-database-in-use", [DATABASE, nodes.Use(kind="DATABASE", this=table("shop")), drop("DATABASE", "shop")], ["FD314"]),
    ("drop-database-not-empty", [DATABASE, create("shop.t"), drop("DATABASE", "shop")], ["FD314"]),
    ("drop-database-cascade", [DATABASE, create("shop.t"), drop("DATABASE", "shop", cascade=True)], []),
    ("use-unknown", [nodes.Use(kind="DATABASE", this=table("nope"))], ["FD302"]),
    ("catalog", [CATALOG, nodes.Use(kind="CATALOG", this=ident("c"))], []),
    ("catalog-hive", [nodes.CreateCatalog(this=ident("c"), options=options({"type": "hive"}))], ["FD312"]),
    ("drop-current-catalog", [drop("CATALOG", "default_catalog")], ["FD314"]),
    ("function", [SYSTEM, drop("FUNCTION", "f", temporary=True, system=True)], []),
    ("function-missing", [drop("FUNCTION", "f")], ["FD315"]),
    ("set", [nodes.Set(this=text("execution.runtime-mode"), expression=text("BATCH"))], []),
    ("set-bad", [nodes.Set(this=text("execution.runtime-mode"), expression=text("x"))], ["FD330"]),
    ("set-unknown", [nodes.Set(this=text("my.key"), expression=text("x"))], ["FD331"]),
    ("set-no-op", [nodes.Set(this=text("pipeline.object-reuse"), expression=text("true"))], ["FD332"]),
    ("module", [nodes.Module(kind="LOAD", this=ident("hive"))], ["FD319"]),
    ("jar", [nodes.Jar(kind="ADD", this=text("x.jar"))], ["FD320"]),
    ("unsupported", [nodes.Unsupported(this="ANALYZE TABLE", text="ANALYZE TABLE t")], ["FD316"]),
]  # fmt: skip


@pytest.mark.parametrize(("statements", "codes"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_findings(statements, codes):
    assert run(*statements)[1] == codes


def test_temporary_hides_permanent():
    catalog, _ = run(create("t"), create("t", temporary=True))
    assert catalog.find(("t",)).temporary
    catalog, _ = apply(catalog, drop("TABLE", "t", temporary=True), SOURCE)
    assert not catalog.find(("t",)).temporary


def test_names_are_resolved_from_the_current_database():
    catalog, _ = run(CATALOG, DATABASE, nodes.Use(kind="DATABASE", this=table("shop")), create("t"))
    path = ObjectPath("default_catalog", "shop", "t")
    for parts in (("t",), ("shop", "t"), ("default_catalog", "shop", "t")):
        assert catalog.find(parts).path == path
    assert catalog.at("c", "default").find(("t",)) is None
    assert catalog.find(("T",)) is None
    assert catalog.nearest(("tt",)) is None
    assert catalog.names() == ("t",)


def test_functions_ignore_case_and_temporary_ones_come_first():
    permanent = nodes.CreateFunction(this=table("f"), identifier=text("m.permanent"), language="PYTHON")
    temporary = nodes.CreateFunction(this=table("F"), temporary=True, identifier=text("m.temporary"), language="PYTHON")
    catalog, _ = run(permanent)
    assert catalog.function("F").identifier == "m.permanent"
    catalog, _ = apply(catalog, temporary, SOURCE)
    assert catalog.function("f").identifier == "m.temporary"
    catalog, _ = apply(catalog, SYSTEM, SOURCE)
    assert catalog.function("f").path is None


def test_settings_are_typed_and_older_names_count():
    catalog, _ = run(nodes.Set(this=text("state.checkpoints.dir"), expression=text("/c")))
    assert catalog.settings.execution_checkpointing_dir == "/c"
    assert catalog.settings.table_exec_state_ttl == 0
    catalog, _ = apply(catalog, nodes.Set(this=text("table.exec.state.ttl"), expression=text("1 h")), SOURCE)
    assert catalog.settings.table_exec_state_ttl == 3_600_000
    catalog, _ = apply(catalog, nodes.Reset(this=text("table.exec.state.ttl")), SOURCE)
    assert catalog.settings.table_exec_state_ttl == 0
    assert apply(Catalog(), nodes.Reset(), SOURCE)[0].settings == Settings()


def test_the_catalog_is_unchanged_after_an_error():
    before, _ = run(create("t"))
    after, findings = apply(before, create("t"), SOURCE)
    assert findings
    assert after is before
