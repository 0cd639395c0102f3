"""The keys of SET: which exist, what they may hold, and what becomes of them on Spark. The table is settings.json."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.diagnostics import About, did_you_mean
from flinkddl.diagnostics.kinds import NOT_AVAILABLE
from flinkddl.diagnostics.secrets import mask
from flinkddl.options import values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flinkddl.diagnostics import Bag, Span


STRICT = {"flinkddl.strict": "true"}
"""What ``--strict`` starts a session with."""


@dataclass(frozen=True)
class Setting:
    """One key: kind and default as for options (durations in milliseconds), and what it does here.

    ``use``: ``mapped``, ``ignored`` (the note says why nothing changes), ``refused`` (any value but the default).
    """

    key: str
    kind: str
    default: Any
    choices: tuple[str, ...]
    aliases: tuple[str, ...]
    use: str
    note: str

    @property
    def attribute(self) -> str:
        """The name of the key in ``Settings``."""
        return self.key.replace(".", "_").replace("-", "_")


@cache
def table() -> Mapping[str, Setting]:
    """Return all known settings by key; older names lead to the same entry."""
    raw = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
    out: dict[str, Setting] = {}
    for entry in raw:
        choices, aliases = tuple(entry.get("choices", ())), tuple(entry.get("aliases", ()))
        use, note = entry["spark"]["use"], entry["spark"]["note"]
        setting = Setting(entry["key"], entry["kind"], entry["default"], choices, aliases, use, note)
        out |= dict.fromkeys((setting.key, *aliases), setting)
    return out


def every() -> Iterable[Setting]:
    """Return all known settings, each once."""
    return {s.key: s for s in table().values()}.values()


Strategy = Literal[
    "none", "off", "disable", "fixed-delay", "fixeddelay", "failure-rate", "failurerate", "exponential-delay",
    "exponentialdelay",
]  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What a session has SET, typed: an attribute for each key that changes something here.

    An attribute is the key with ``_`` for ``.`` and ``-``; durations are milliseconds, a choice has the spelling of
    settings.json in whatever case it was SET, older names lead to the same attribute. Written by hand, so that mypy
    and a reader see names and types where they are read; a test holds it to settings.json. None: not SET, where
    that is no value (the execution mode is then chosen by the sources, ``require-on-conflict`` by
    ``flinkddl.strict``).

    ``as_written`` are the texts as they were SET, for what shows or keeps them; nothing is decided by them.
    """

    as_written: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    execution_runtime_mode: Literal["STREAMING", "BATCH", "AUTOMATIC"] | None = None
    table_local_time_zone: str = "default"
    table_exec_state_ttl: int = 0
    table_exec_source_idle_timeout: int = 0
    table_exec_source_cdc_events_duplicate: bool = False
    table_exec_mini_batch_enabled: bool = False
    table_exec_mini_batch_allow_latency: int = 0
    parallelism_default: int | None = None
    table_exec_resource_default_parallelism: int = -1
    execution_checkpointing_interval: int | None = None
    flinkddl_on_data_loss: Literal["report", "fail"] | None = None
    execution_checkpointing_dir: str | None = None
    restart_strategy_type: Strategy | None = None
    restart_strategy_fixed_delay_attempts: int = 1
    restart_strategy_fixed_delay_delay: int = 1000
    restart_strategy_failure_rate_max_failures_per_interval: int = 1
    restart_strategy_failure_rate_failure_rate_interval: int = 60_000
    restart_strategy_failure_rate_delay: int = 1000
    restart_strategy_exponential_delay_initial_backoff: int = 1000
    restart_strategy_exponential_delay_max_backoff: int = 60_000
    restart_strategy_exponential_delay_backoff_multiplier: float = 1.5
    restart_strategy_exponential_delay_reset_backoff_threshold: int = 3_600_000
    restart_strategy_exponential_delay_jitter_factor: float = 0.1
    restart_strategy_exponential_delay_attempts_before_reset_backoff: int = 2_147_483_647
    pipeline_name: str | None = None
    pipeline_global_job_parameters: Mapping[str, str] | None = None
    execution_checkpointing_savepoint_dir: str | None = None
    execution_state_recovery_path: str | None = None
    table_dml_sync: bool = False
    table_dynamic_table_options_enabled: bool = True
    table_exec_sink_not_null_enforcer: Literal["ERROR", "DROP"] = "ERROR"
    table_exec_sink_upsert_materialize: Literal["NONE", "AUTO", "FORCE"] = "AUTO"
    table_exec_sink_require_on_conflict: bool | None = None
    table_optimizer_reuse_source_enabled: bool = True
    table_optimizer_reuse_sub_plan_enabled: bool = True
    table_plan_force_recompile: bool = False
    sql_client_execution_result_mode: Literal["TABLE", "CHANGELOG", "TABLEAU"] = "TABLE"
    sql_client_execution_max_table_result_rows: int = 1_000_000
    sql_client_verbose: bool = False
    table_display_max_column_width: int = 30
    sql_client_display_print_time_cost: bool = True
    security_kerberos_login_principal: str | None = None
    security_kerberos_login_keytab: str | None = None
    security_kerberos_krb5_conf_path: str | None = None
    security_kerberos_login_contexts: str | None = None
    security_kerberos_login_use_ticket_cache: bool = True
    fs_hdfs_hadoop_security_authentication: Literal["simple", "kerberos"] = "simple"
    flinkddl_strict: bool = False
    flinkddl_jobs_dir: str | None = None
    flinkddl_execution_mode: Literal["MICRO-BATCH", "REALTIME", "AUTO"] = "MICRO-BATCH"
    flinkddl_execution_max_offsets_per_trigger: int | None = None
    flinkddl_watermark_partitions: int = 64
    flinkddl_state_ttl_strict: bool = False
    flinkddl_join_strategy: Literal["MULTISET", "BILINEAR"] = "MULTISET"
    flinkddl_execution_state: Literal["AGGREGATE", "KEYED", "CHAIN", "AUTO"] = "AUTO"

    @classmethod
    def of(cls, raw: Mapping[str, str]) -> Settings:
        """Return the settings of texts by key. Raises ValueError for a text that ``check`` refuses."""
        typed: dict[str, Any] = {}
        for key in raw:
            setting = table().get(key)
            if setting and setting.attribute in cls.__dataclass_fields__:
                text = raw.get(setting.key, raw[key])  # its own name goes before older ones
                typed[setting.attribute] = values.parse(setting.kind, text, setting.choices)
        return cls(MappingProxyType(dict(raw)), **typed)

    def put(self, key: str, text: str) -> Settings:
        """Return the settings after a SET; it replaces what was SET under another name of the key."""
        return Settings.of({**self._others(key), key: text})

    def without(self, key: str) -> Settings:
        """Return the settings without a key, under whichever of its names it was SET."""
        return Settings.of(self._others(key))

    def _others(self, key: str) -> dict[str, str]:
        return {k: v for k, v in self.as_written.items() if k not in names(key)}

    def of_key(self, key: str) -> Any:
        """Return the value of a key out of a table of keys. Raises KeyError for one that has no attribute."""
        return vars(self)[table()[key].attribute]

    @property
    def zone(self) -> str:
        """The session's time zone, that of a machine in UTC where none was SET."""
        return "UTC" if self.table_local_time_zone in ("", "default") else self.table_local_time_zone

    @property
    def batch(self) -> bool:
        """Whether batch mode was SET."""
        return self.execution_runtime_mode == "BATCH"


NOTHING_SET = Settings()


def names(key: str) -> tuple[str, ...]:
    """Return all names of a key, its own first; of an unknown key this one."""
    setting = table().get(key)
    return (setting.key, *setting.aliases) if setting else (key,)


def check(key: str, text: str, key_span: Span | None, value_span: Span | None, bag: Bag) -> bool:
    """Check a SET and return whether it may stand; say where a key does nothing or is unknown."""
    setting = table().get(key)
    if setting is None:
        help = did_you_mean(key, table())
        if key.startswith("flinkddl.") or "'flinkddl." in (help or ""):
            bag.error("FD485", f"'{key}' is no setting of flinkddl", key_span, help)
            return False
        bag.note("FD331", f"'{key}' is no setting known here; it is stored and has no effect", key_span, help)
        return True
    try:
        given = values.parse(setting.kind, text, setting.choices)
    except ValueError as error:
        message = f"invalid value '{mask(key, text)}' for '{key}'"
        bag.error("FD330", message, value_span, str(error), about=About(key))
        return False
    if setting.use == "refused" and given != setting.default:
        message = f"'{key}' = '{mask(key, text)}' is not available here"
        bag.error("FD330", message, value_span, setting.note, about=About(key, NOT_AVAILABLE))
        return False
    if setting.use == "ignored":
        bag.note("FD332", f"'{key}' has no effect here: {setting.note}", key_span)
    return True
