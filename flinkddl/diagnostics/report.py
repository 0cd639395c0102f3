"""Diagnostics as values: one record, a bag that collects them, did-you-mean, and the exception that carries them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from flinkddl.diagnostics.source import Span

T = TypeVar("T")
Severity = Literal["error", "warning", "note"]

TAKEN = "FD477"
"""Code of what Flink 2.3 refuses and is taken here: a warning, and an error where the session is strict."""


@dataclass(frozen=True)
class Related:
    """A second place that belongs to a diagnostic, with what stands there."""

    span: Span
    message: str


@dataclass(frozen=True)
class About:
    """What a finding speaks of, for those who sort findings: a name as written; a kind of ``kinds``."""

    name: str = ""
    kind: str = ""


NOTHING = About()


@dataclass(frozen=True)
class Diagnostic:
    """One finding.

    ``code`` names a page of the catalogue (``flinkddl error CODE``); ``message`` is one sentence, lower case, without
    a full stop; ``help`` says in the imperative what to write instead; ``span`` is None where no text is concerned.
    ``fix`` is the text to write in the place of ``span``, where that is all there is to do. ``about`` says in values
    what the message says in words: nothing is decided by a message's text.
    """

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    severity: Severity = "error"
    related: tuple[Related, ...] = ()
    fix: str | None = None
    about: About = NOTHING


def taken(what: str, span: Span | None, help: str, fix: str | None = None) -> Diagnostic:
    """Return the warning of what Flink 2.3 refuses and is taken here; ``strictly`` makes an error of it."""
    return Diagnostic(TAKEN, f"{what}: Flink 2.3 refuses it", span, help, "warning", fix=fix)


def strictly(found: Iterable[Diagnostic], strict: bool) -> list[Diagnostic]:
    """Return findings as a session sees them: a strict one refuses what Flink 2.3 refuses."""
    return [replace(d, severity="error") if strict and d.code == TAKEN else d for d in found]


class FlinkDdlError(Exception):
    """Raised when a script cannot go on; ``diagnostics`` holds every finding, sorted by place."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=_place))
        super().__init__("\n".join(_line(*same) for same in alike(self.diagnostics)))

    def placed(self, span: Span | None) -> FlinkDdlError:
        """Return the error with this place for findings that have none."""
        return FlinkDdlError(d if d.span else replace(d, span=span) for d in self.diagnostics)

    @classmethod
    def of(
        cls,
        code: str,
        message: str,
        span: Span | None = None,
        help: str | None = None,
        related: tuple[Related, ...] = (),
        about: About = NOTHING,
    ) -> FlinkDdlError:
        """Build the error of a single finding."""
        return cls([Diagnostic(code, message, span, help, related=related, about=about)])


@dataclass
class Bag:
    """Collects diagnostics while a stage goes on after a mistake."""

    items: list[Diagnostic] = field(default_factory=list)

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        help: str | None = None,
        related: tuple[Related, ...] = (),
        about: About = NOTHING,
    ) -> None:
        """Add an error."""
        self.items.append(Diagnostic(code, message, span, help, "error", related, about=about))

    def warning(self, code: str, message: str, span: Span | None = None, help: str | None = None) -> None:
        """Add a warning: the script runs, but not as its author may think."""
        self.items.append(Diagnostic(code, message, span, help, "warning"))

    def note(self, code: str, message: str, span: Span | None = None, help: str | None = None) -> None:
        """Add a note: an accepted no-op or a stated difference."""
        self.items.append(Diagnostic(code, message, span, help, "note"))

    def extend(self, items: Iterable[Diagnostic]) -> None:
        """Add findings of another stage."""
        self.items.extend(items)

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(d.severity == "error" for d in self.items)

    def raise_if_errors(self) -> None:
        """Raise FlinkDdlError with all findings when one of them is an error."""
        if self.has_errors:
            raise FlinkDdlError(self.items)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self.items, key=_place))


def alike(diagnostics: Iterable[Diagnostic]) -> Iterable[list[Diagnostic]]:
    """Put findings together that say the same of several places in one script."""
    groups: dict[object, list[Diagnostic]] = {}
    for d in diagnostics:
        source = d.span and d.span.source.name
        groups.setdefault((source, d.severity, d.code, d.message, d.help, d.related), []).append(d)
    return groups.values()


def times(count: int) -> str:
    """Return ``once more``, ``2 more times``."""
    return "once more" if count == 1 else f"{count} more times"


def each(jobs: Iterable[Callable[[], T]]) -> list[T]:
    """Run every job and return the results; where some fail, raise the findings of all of them together."""
    results: list[T] = []
    found: dict[Diagnostic, None] = {}
    for job in jobs:
        try:
            results.append(job())
        except FlinkDdlError as error:
            found.update(dict.fromkeys(error.diagnostics))
    if found:
        raise FlinkDdlError(found)
    return results


def chain(first: Callable[[], T], steps: Iterable[tuple[Callable[[], T], Callable[[T, T], T]]]) -> T:
    """Fold a chain from the left: each step makes its right side and joins it to what is there.

    ``a + b + c`` and UNION ALL of thousands are trees as deep: they are walked in a loop. As with ``each`` the findings
    of all parts are raised together; a part that failed is joined to nothing.
    """
    found: dict[Diagnostic, None] = {}

    def tried(job: Callable[[], T]) -> list[T]:
        try:
            return [job()]
        except FlinkDdlError as error:
            found.update(dict.fromkeys(error.diagnostics))
            return []

    left = tried(first)
    for make, join in steps:
        right = tried(make)
        left = tried(partial(join, *left, *right)) if left and right else []
    if found:
        raise FlinkDdlError(found)
    return left[0]


def joined(error: FlinkDdlError, jobs: Iterable[Callable[[], object]]) -> FlinkDdlError:
    """Return the error with the findings of other jobs, which are run for their mistakes only; none in equal words."""

    def again() -> None:
        raise error

    try:
        each([again, *jobs])
    except FlinkDdlError as every:
        told = {(d.code, d.message, d.help) for d in error.diagnostics}
        more = (d for d in every.diagnostics if (d.code, d.message, d.help) not in told)
        return FlinkDdlError([*error.diagnostics, *more])
    return error


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that ``name`` most likely means, or None. Case-insensitive."""
    by_lower = {c.lower(): c for c in candidates}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Return the help line ``did you mean 'x'?``, or None when nothing is near."""
    best = suggest(name, candidates)
    return f"did you mean '{best}'?" if best is not None else None


def _place(d: Diagnostic) -> tuple[str, int, int]:
    return (d.span.source.name, d.span.start, d.span.end) if d.span else ("", -1, -1)


def _line(d: Diagnostic, *others: Diagnostic) -> str:
    where = f"{d.span}: " if d.span else ""
    more = f" [{times(len(others))}]" if others else ""
    return f"{where}{d.severity} {d.code}: {d.message}" + (f" ({d.help})" if d.help else "") + more
