"""ALTER: ``grammar/alter.ebnf``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.dialect import nodes as n
from flinkddl.dialect.parse_ddl import DdlParser

if TYPE_CHECKING:
    from collections.abc import Callable


class AlterParser(DdlParser):
    """Reads ALTER."""

    def _alter(self, start: int) -> n.Statement:
        """``alter``."""
        self.need("ALTER")
        if (refused := self.unknown_kind("ALTER", start)) is not None:
            return refused
        if self.take("TEMPORARY"):
            system = self.take("SYSTEM")
            self.need("FUNCTION")
            return self.mark(self._alter_function(True, system), start)
        kind = self.need_one(("TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION"))
        return self.mark(_ALTER[kind](self), start)

    def _alter_function(self, temporary: bool = False, system: bool = False) -> n.AlterFunction:
        """``alter_function``."""
        node = n.AlterFunction(temporary=temporary or None, system=system or None, exists=self._if_exists())
        node.set("this", self.table_name("a function name"))
        self.need("AS")
        node.set("identifier", self.string("a class or 'module.function'"))
        node.set("language", self.language())
        return node

    def _alter_view(self) -> n.AlterView:
        """``alter_view``."""
        node = n.AlterView(exists=self._if_exists(), this=self.table_name("a view name"))
        start = self.tok.start
        if self.take("RENAME", "TO"):
            node.set("action", self.mark(n.AlterRename(this=self.table_name("a view name")), start))
        else:
            if not self.take("AS"):
                self.fail_expected("RENAME", "AS")
            node.set("action", self.query())
        return node

    def _alter_database(self) -> n.AlterDatabase:
        """``alter_database``."""
        name = self.table_name("a database name")
        start = self.tok.start
        self.need("SET")
        return n.AlterDatabase(this=name, action=self.mark(self._alter_set(), start))

    def _alter_catalog(self) -> n.AlterCatalog:
        """``alter_catalog``."""
        name = self.simple_table("a catalog name")
        start = self.tok.start
        kind = self.need_one(("SET", "RESET", "COMMENT"))
        action = self.string("a comment") if kind == "COMMENT" else self.mark(_ACTIONS[kind](self), start)
        return n.AlterCatalog(this=name, action=action)

    def _keys(self) -> list[exp.Literal]:
        """``keys``."""
        self.need("(")
        return [] if self.take(")") else self.comma_list(lambda: self.string("an option key"))

    # ---- tables --------------------------------------------------------------------------------------------------

    def _alter_table(self) -> n.AlterTable:
        """``alter_table``."""
        node = n.AlterTable(exists=self._if_exists(), this=self.table_name())
        start = self.tok.start
        kind = self.need_one(_ACTIONS)
        node.set("action", self.mark(_ACTIONS[kind](self), start))
        return node

    def _add(self) -> exp.Expression:
        """``alter_add``."""
        if self.at("PARTITION") or self.at("IF", "NOT", "EXISTS"):
            return n.AlterPartition(add=True, exists=self._exists(), expressions=self._partitions())
        return n.AlterAdd(expressions=self._components())

    def _components(self) -> list[exp.Expression]:
        """``components``."""
        if self.take("("):
            return self.comma_list(self._component)
        if self.at("DISTRIBUTION"):
            return [self.distribution()]
        return [self._component()]

    def _component(self) -> exp.Expression:
        """``component``."""
        start = self.tok.start
        element = self.element()
        if self.take("FIRST"):
            return self.mark(n.ColumnPosition(this=element, first=True), start)
        if self.take("AFTER"):
            return self.mark(n.ColumnPosition(this=element, after=self.nested()), start)
        return element

    def _drop_part(self) -> exp.Expression:
        """``alter_drop``."""
        if self.at("PARTITION") or self.at("IF", "EXISTS"):
            return n.AlterPartition(add=False, exists=self._if_exists(), expressions=self._partitions())
        if self.take("PRIMARY", "KEY"):
            return n.AlterDrop(what="PRIMARY KEY")
        if self.take("CONSTRAINT"):
            return n.AlterDrop(what="CONSTRAINT", expressions=[self.identifier("a constraint name")])
        if self.at("WATERMARK") or self.at("DISTRIBUTION"):
            return n.AlterDrop(what=self.advance().key)
        if self.take("("):
            return n.AlterDrop(what="COLUMN", expressions=self.comma_list(self.nested))
        return n.AlterDrop(what="COLUMN", expressions=[self.nested()])

    def _rename(self) -> exp.Expression:
        """``alter_rename``."""
        if self.take("TO"):
            return n.AlterRename(this=self.table_name())
        old = self.nested()
        self.need("TO")
        return n.AlterRenameColumn(this=old, to=self.nested())

    def _alter_set(self) -> exp.Expression:
        """``alter_set``."""
        return n.AlterSet(expressions=self.options())

    def _alter_reset(self) -> exp.Expression:
        """``alter_reset``."""
        return n.AlterReset(expressions=self._keys())

    def _partitions(self) -> list[n.Partition]:
        """``partitions``."""
        parts: list[n.Partition] = []
        while self.at("PARTITION"):
            parts.append(self.partition())
            if self.take("WITH"):
                self.options()
            self.take(",")
        return parts

    def partition(self) -> n.Partition:
        """``partition``."""
        start = self.need("PARTITION").start
        self.need("(")
        return self.mark(n.Partition(expressions=self.comma_list(self._partition_item)), start)

    def _partition_item(self) -> exp.Expression:
        """``partition_item``."""
        start = self.tok.start
        name = self.identifier("a column name")
        if not self.take("="):
            return name
        return self.mark(exp.EQ(this=name, expression=self.expression(40 - 1)), start)


_ALTER: dict[str, Callable[[AlterParser], n.Statement]] = {
    "TABLE": AlterParser._alter_table,
    "VIEW": AlterParser._alter_view,
    "DATABASE": AlterParser._alter_database,
    "CATALOG": AlterParser._alter_catalog,
    "FUNCTION": AlterParser._alter_function,
}
_ACTIONS: dict[str, Callable[[AlterParser], exp.Expression]] = {
    "ADD": AlterParser._add,
    "MODIFY": lambda parser: n.AlterModify(expressions=parser._components()),  # ``alter_modify``
    "DROP": AlterParser._drop_part,
    "RENAME": AlterParser._rename,
    "SET": AlterParser._alter_set,
    "RESET": AlterParser._alter_reset,
}
