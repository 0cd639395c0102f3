"""ALTER TABLE SET and OPTIONS hints in the style of Flink 1.9 and 1.10, in today's words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.context import parts
from flinkddl.dialect import nodes
from flinkddl.options.legacy_changes import renew_change, told
from flinkddl.script import clauses

if TYPE_CHECKING:
    from flinkddl.diagnostics import Bag
    from flinkddl.script.edits import Edits

Name = tuple[str, ...]
_OLD = ("connector.", "format.", "schema.")


@dataclass
class Tables:
    """The options of a script's tables as written, older ones too, by name; ``read``: the tables that queries read."""

    read: set[Name] = field(default_factory=set)
    options: dict[Name, dict[str, str]] = field(default_factory=dict)

    def of(self, name: Name) -> dict[str, str]:
        """Return the options of a table; none where it is not in the script, or the name may be of several."""
        if name in self.options:
            return self.options[name]
        ends = [known for known in self.options if _ends_alike(known, name)]
        return self.options[ends[0]] if len(ends) == 1 else {}

    def is_read(self, name: Name) -> bool:
        """Whether a query reads a table, by this name or one that says more or less of its path."""
        return name in self.read or any(_ends_alike(known, name) for known in self.read)


def _ends_alike(one: Name, other: Name) -> bool:
    shorter = min(len(one), len(other))
    return one[-shorter:] == other[-shorter:]


@dataclass(frozen=True)
class Changes:
    """What is laid over the options of a script's tables, rewritten statement by statement."""

    tables: Tables
    edits: Edits
    bag: Bag

    def alter(self, tree: nodes.AlterTable) -> None:
        """Change an ALTER TABLE, and keep in mind what it makes of the table."""
        name, action = parts(tree.this), tree.args["action"]
        match action:
            case nodes.AlterSet():
                if not self._change(name, action.expressions):
                    self.edits.remove_statement(clauses.place_of(tree))
                written = clauses.values_of(action.expressions, self.edits.text)
                self.tables.options[name] = {**self.tables.of(name), **written}
            case nodes.AlterReset():
                self._reset(action.expressions)
            case nodes.AlterRename():
                self.tables.options[parts(action.this)] = self.tables.of(name)

    def _reset(self, keys: list[exp.Expression]) -> None:
        for key in keys:
            if key.name.startswith(_OLD):
                message = f"nothing does the same as RESET of '{key.name}' today"
                self.bag.error("FD673", message, clauses.span_at(key, self.edits.source), "name the option of today")

    def hints(self, tree: exp.Expression) -> None:
        """Change the OPTIONS hints of a statement."""
        for table in tree.find_all(exp.Table):
            for hint in table.args.get("hints") or []:
                if isinstance(hint, nodes.OptionsHint) and not self._change(parts(table), hint.expressions):
                    self.edits.remove_hint(clauses.place_of(hint))

    def _change(self, name: Name, options: list[nodes.Option]) -> bool:
        """Change options that are laid over those of a table; return whether any is left."""
        table, change = self.tables.of(name), clauses.values_of(options, self.edits.text)
        places = clauses.places_of(options, self.edits.source)
        older = any(key.startswith("connector.") for key in change) and "connector" in table
        if clauses.unknown({**(told(table) if older else table), **change}, places, self.bag):
            return True
        renewed = renew_change(told(table), change) if older else renew_change(table, change, self.tables.is_read(name))
        if renewed is None:
            return True
        clauses.tell(renewed.lost, renewed.differs, places, self.bag)
        if not any(renewed.pairs.values()):
            return False
        clauses.rewrite(options, renewed.pairs, self.edits)
        return True
