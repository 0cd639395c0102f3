"""One pass over rows that go on in several ways: the columns of each way are made from the row, guarded by its filters.

No value of a way is computed for a row that the way's filters drop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flinkddl.spark.base import generate, same, select
from flinkddl.spark.job import Select, Where
from flinkddl.spark.stream.base import members, struct
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named

ROW = "__fan"


@dataclass
class Pass:
    """The Selects over one row: the columns of the way at hand, and what rides along.

    ``have`` are the columns of the way, ``timed`` those of them that Spark knows as event time. ``passes``: a filter of
    this way has been met, and the column ``mark`` says whether the row is still on it. ``kept`` are names that ride
    along. ``whole``: each row stays at least one row, for what rides along with it.
    """

    step: str
    prefix: str
    ctx: Lowering
    mark: str = "__passes"
    kept: list[str] = field(default_factory=list)
    have: tuple[str, ...] = ()
    timed: set[str] = field(default_factory=set)
    passes: bool = False
    whole: bool = False
    saved: dict[str, tuple[tuple[str, ...], set[str], str]] = field(default_factory=dict)

    def begin(self, columns: Sequence[Named], timed: Iterable[str], when: str = "", note: str = "") -> None:
        """Begin a way with these columns, for rows of which ``when`` is true."""
        self._select([*columns, *same(self.kept), *([(self.mark, when)] if when else [])], note)
        self.have, self.timed, self.passes = tuple(name for name, _ in columns), set(timed), bool(when)

    def save(self, name: str) -> None:
        """Keep the way's row as it is now: a struct of that name, NULL where the row is not on the way."""
        row = struct(map(quote, self.have))
        self._select([*self._same(), (name, f"IF({self.mark}, {row}, NULL)" if self.passes else row)])
        self.kept.append(name)
        self.saved[name] = (self.have, self.timed, f"{name} IS NOT NULL" if self.passes else "")

    def again(self, name: str, note: str = "") -> None:
        """Begin a way where another one saved its row, with the columns that it had."""
        columns, timed, when = self.saved[name]
        self.begin(list(zip(columns, members(name, len(columns)), strict=True)), timed, when, note)

    def follow(self, step: Select | Where) -> None:
        """Go on with a filter or a projection; after a filter nothing is computed for a row that it has dropped."""
        if isinstance(step, Where):
            self._narrow(step.condition)
            return
        self._select([*self._guarded(step.columns), *same(self.kept), *self._marked()])
        self._project(step.columns)

    def choose(self, step: Select, n: int) -> None:
        """Go on with one of the rows that a Select makes of a row by ``choices``."""
        condition, values = step.choices[n]
        self._narrow(condition)
        assert step.generator is not None
        self.follow(Select(name="", input="", columns=(*step.columns, *zip(step.generator[1], values, strict=True))))

    def unfold(self, step: Select) -> None:
        """Go on with the rows that a generator makes; a row that is not on this way stays one row."""
        assert step.generator is not None
        rows, names = step.generator
        if self.whole:
            self._narrow(f"size({rows.removeprefix('inline')}) > 0")
        if self.passes:
            assert rows.startswith("inline("), rows
            rows = f"inline(IF({self.mark}, {rows.removeprefix('inline').strip()}, array(NULL)))"
        kept = [*self._guarded(step.columns), *same(self.kept), *self._marked()]
        self.step = generate(self.step, kept, (rows, names), self.ctx, self.prefix)
        self._project(step.columns)
        self.have = (*self.have, *names)

    def rename(self, columns: Sequence[str]) -> None:
        """Give the columns the names that they have in a UNION ALL, by their places."""
        if tuple(columns) != self.have:
            self.follow(Select(name="", input="", columns=tuple(zip(columns, map(quote, self.have), strict=True))))

    def end(self, name: str, row: str = "") -> set[int]:
        """End the way: its row, or NULL, as a column that is kept. Returns the places of its columns of event time."""
        row = row or struct(map(quote, self.have))
        self._select([*same(self.kept), (name, f"IF({self.mark}, {row}, NULL)" if self.passes else row)])
        self.kept.append(name)
        return {i for i, c in enumerate(self.have) if c in self.timed}

    def drop(self, name: str) -> None:
        """Let a column ride along no more."""
        self.kept.remove(name)

    def _narrow(self, condition: str) -> None:
        test = f"coalesce({condition}, false)"
        test = f"IF({self.mark}, {test}, false)" if self.passes else test
        self._select([*same(self.have), *same(self.kept), (self.mark, test)])
        self.passes = True

    def _guarded(self, columns: Sequence[Named]) -> list[Named]:
        plain = {*map(quote, self.have), *self.have}
        return [(c, f"IF({self.mark}, {e}, NULL)" if self.passes and e not in plain else e) for c, e in columns]

    def _project(self, columns: Sequence[Named]) -> None:
        self.timed = {c for c, e in columns if e in self.timed or e in map(quote, self.timed)}
        self.have = tuple(c for c, _ in columns)

    def _marked(self) -> list[Named]:
        return list(same([self.mark] * self.passes))

    def _same(self) -> list[Named]:
        return [*same(self.have), *same(self.kept), *self._marked()]

    def _select(self, named: Sequence[Named], note: str = "") -> None:
        self.step = select(self.step, named, self.ctx, self.prefix, note)
