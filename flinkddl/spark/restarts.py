"""``restart-strategy.*``: what becomes of a job whose query has failed, checked as Flink checks it.

Names, defaults and bounds are those of Flink 2.3 (RestartStrategyOptions, the constructors of its
RestartBackoffTimeStrategy classes). Flink looks at the keys of the strategy that is chosen and at no others; those of
the others are named in a note (FD886).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.catalog.settings import Settings
    from flinkddl.diagnostics import Bag, Span

Kind = Literal["none", "fixed-delay", "failure-rate", "exponential-delay"]
PREFIX = "restart-strategy."
TYPE = "restart-strategy.type"
ENDLESS = 2**31 - 1
KINDS: tuple[Kind, ...] = get_args(Kind)
_NAMES: dict[str, Kind] = {name: kind for kind in KINDS for name in (kind, kind.replace("-", ""))}
_NAMES |= {"off": "none", "disable": "none"}


@dataclass(frozen=True)
class RestartStrategy:
    """What follows a failure. Times in milliseconds.

    ``chosen``: the script names it; else it is what Flink takes by itself. ``attempts``: restarts until the job fails
    for good, those within ``interval_ms`` where that is given. ``delay_ms``: the pause before a restart; it grows by
    ``multiplier`` up to ``most_ms``, by ``jitter`` more or less at random, and begins anew after ``reset_ms`` without
    a failure.
    """

    kind: Kind
    chosen: bool = False
    attempts: int = ENDLESS
    delay_ms: int = 0
    interval_ms: int = 0
    multiplier: float = 1.0
    most_ms: int = 0
    reset_ms: int = 0
    jitter: float = 0.0


NONE = RestartStrategy("none")
USUAL = RestartStrategy(
    "exponential-delay", delay_ms=1000, multiplier=1.5, most_ms=60_000, reset_ms=3_600_000, jitter=0.1
)
"""Flink's own choice for a job with checkpoints."""

# key -> field, bound in words, whether a value keeps it
_KEYS: Mapping[Kind, Mapping[str, tuple[str, str, Callable[[Any], bool]]]] = {
    "none": {},
    "fixed-delay": {
        "restart-strategy.fixed-delay.attempts": ("attempts", "at least 0", lambda v: v >= 0),
        "restart-strategy.fixed-delay.delay": ("delay_ms", "", lambda _: True),
    },
    "failure-rate": {
        "restart-strategy.failure-rate.max-failures-per-interval": ("attempts", "above 0", lambda v: v > 0),
        "restart-strategy.failure-rate.failure-rate-interval": ("interval_ms", "above 0 ms", lambda v: v > 0),
        "restart-strategy.failure-rate.delay": ("delay_ms", "", lambda _: True),
    },
    "exponential-delay": {
        "restart-strategy.exponential-delay.initial-backoff": ("delay_ms", "at least 1 ms", lambda v: v >= 1),
        "restart-strategy.exponential-delay.max-backoff": ("most_ms", "at least 1 ms", lambda v: v >= 1),
        "restart-strategy.exponential-delay.backoff-multiplier": ("multiplier", "above 1", lambda v: v > 1),
        "restart-strategy.exponential-delay.reset-backoff-threshold": ("reset_ms", "at least 1 ms", lambda v: v >= 1),
        "restart-strategy.exponential-delay.jitter-factor": ("jitter", "from 0 to 1", lambda v: 0 <= v <= 1),
        "restart-strategy.exponential-delay.attempts-before-reset-backoff": (
            "attempts",
            "at least 1",
            lambda v: v >= 1,
        ),
    },
}


def restart_strategy(
    config: Settings, span: Span | None, bag: Bag, *, streaming: bool = True
) -> RestartStrategy | None:
    """Return the strategy of a session's settings; None where it depends on whether the job has a checkpoint folder.

    A batch run is not started again: what it has written it would write twice.
    Raises FD885 for a value that Flink refuses.
    """
    name = config.restart_strategy_type
    kind = _NAMES[name] if name is not None else None
    _note_unused(config, kind, span, bag)
    if not streaming:
        if kind not in (None, "none"):
            bag.note("FD886", f"'{TYPE}' = '{name}' has no effect: a batch run is not started again", span)
        return NONE
    if kind is None:
        return USUAL if config.execution_checkpointing_interval else None
    fields: dict[str, Any] = {}
    for key, (field, bound, holds) in _KEYS[kind].items():
        fields[field] = config.of_key(key)
        if not holds(fields[field]):
            raise FlinkDdlError.of(
                "FD885", f"'{key}' = '{config.as_written[key]}' is refused: it must be {bound}", span
            )
    if kind == "exponential-delay" and fields["delay_ms"] > fields["most_ms"]:
        message = f"'{PREFIX}{kind}.initial-backoff' is longer than '{PREFIX}{kind}.max-backoff'"
        raise FlinkDdlError.of("FD885", message, span, "raise the second, or lower the first")
    return RestartStrategy(kind, chosen=True, **fields)


def _note_unused(config: Settings, kind: Kind | None, span: Span | None, bag: Bag) -> None:
    used = _KEYS[kind] if kind is not None else {}
    unused = sorted(key for key in config.as_written if key.startswith(PREFIX) and key != TYPE and key not in used)
    if unused:
        why = f"is '{kind}'" if kind is not None else "is not set"
        help = f"SET '{TYPE}' = '{unused[0].split('.')[1]}' takes it"
        bag.note("FD886", f"'{unused[0]}' has no effect: '{TYPE}' {why}, as in Flink", span, help)
