"""What ``@DataTypeHint`` says, its values that are not the default. Source: DataTypeTemplate."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from flinkddl.functions.java.jtypes import Named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.functions.java.classfile import Annotation
    from flinkddl.functions.java.jtypes import JType
    from flinkddl.functions.java.typed import Typed

ANNOTATION = "org.apache.flink.table.annotation."
DATA_TYPE_HINT = f"{ANNOTATION}DataTypeHint"
FUNCTION_HINT = f"{ANNOTATION}FunctionHint"
ARGUMENT_HINT = f"{ANNOTATION}ArgumentHint"
STATE_HINT = f"{ANNOTATION}StateHint"


class NoType(Exception):
    """Flink derives no type here; the message says why, in Flink's words where it has some."""


@dataclass(frozen=True)
class Template:
    """The values of a hint; None where it says nothing. ``any``: the input group ANY."""

    typed: Typed | None = None
    any: bool = False
    allow_raw: bool | None = None
    allow_pattern: tuple[str, ...] | None = None
    force_pattern: tuple[str, ...] | None = None
    decimal_precision: int | None = None
    decimal_scale: int | None = None
    year_precision: int | None = None
    second_precision: int | None = None

    def without_type(self) -> Template:
        """Return what holds for the parts of a type too."""
        return replace(self, typed=None)

    def over(self, inner: Template) -> Template:
        """Return the inner hint, with what the outer one says where the inner says nothing but for its type."""
        names = [f.name for f in fields(self) if f.name not in ("typed", "any")]
        mine = {n: getattr(self, n) for n in names if getattr(inner, n) is None}
        return replace(inner, any=inner.any or self.any, **mine)

    def allows_raw(self, name: str | None) -> bool:
        """Whether a class that no type is found for may be RAW."""
        return bool(self.allow_raw) or _begins(name, self.allow_pattern)

    def forces_raw(self, name: str | None) -> bool:
        """Whether a class is RAW whatever it is."""
        return _begins(name, self.force_pattern)


NOTHING = Template()


def _begins(name: str | None, patterns: tuple[str, ...] | None) -> bool:
    return name is not None and any(name.startswith(p) for p in patterns or ())


def hint_of(annotations: Sequence[Annotation], name: str) -> Annotation | None:
    """Return the annotation of a class, or None."""
    return next((a for a in annotations if a.name == name), None)


def hints_of(annotations: Sequence[Annotation], name: str) -> list[Annotation]:
    """Return the annotations of a class that may stand more than once: Java wraps several in ``<name>s``."""
    found = [a for a in annotations if a.name == name]
    for a in annotations:
        if a.name == f"{name}s":
            found += a.values.get("value", [])
    return found


def type_hint(hint: Annotation, *names: str) -> Annotation | None:
    """Return the ``@DataTypeHint`` that a hint has as one of its values, None for one that says nothing."""
    for name in names:
        inner: Annotation | None = hint.values.get(name)
        if inner is not None and not _says_nothing(inner):
            return inner
    return None


def _says_nothing(hint: Annotation) -> bool:
    return template(hint, lambda *_: None) == NOTHING and not hint.values.get("value") and _class(hint) is None


def template(hint: Annotation, typed: Callable[[str | None, JType | None, Template], Typed | None]) -> Template:
    """Return what a ``@DataTypeHint`` says; ``typed`` makes a type of its text and class, where it has either."""
    values = hint.values
    made = Template(
        any=values.get("inputGroup") == "ANY",
        allow_raw={"TRUE": True, "FALSE": False}.get(str(values.get("allowRawGlobally"))),
        allow_pattern=_patterns(values.get("allowRawPattern")),
        force_pattern=_patterns(values.get("forceRawPattern")),
        decimal_precision=_number(values.get("defaultDecimalPrecision")),
        decimal_scale=_number(values.get("defaultDecimalScale")),
        year_precision=_number(values.get("defaultYearPrecision")),
        second_precision=_number(values.get("defaultSecondPrecision")),
    )
    text, bridge = values.get("value") or None, _class(hint)
    return made if text is None and bridge is None else replace(made, typed=typed(text, bridge, made))


def _class(hint: Annotation) -> JType | None:
    bridge: JType | None = hint.values.get("bridgedTo")
    return None if bridge == Named("void") else bridge


def _patterns(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given in (None, [""]) else tuple(given or ())


def _number(given: int | None) -> int | None:
    return None if given == -1 else given
