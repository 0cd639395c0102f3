"""Date and time functions. Patterns are Java's; a TIMESTAMP_LTZ is taken apart in the session's zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.functions.arithmetic import add_interval
from flinkddl.functions.core import Function, Lowered, Operands, Options, SignatureError, same, string
from flinkddl.functions.typing import strip_attribute
from flinkddl.functions.zones import cut, from_micros, from_wall, instant, micros, milliseconds, wall
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.sqltypes import DataType

S = T.STRING
DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"
_DAY_MS = 86_400_000

# ---- taking apart ------------------------------------------------------------------------------------------------

_CALENDAR = {
    "YEAR": "year({0})",
    "QUARTER": "quarter({0})",
    "MONTH": "month({0})",
    "WEEK": "weekofyear({0})",
    "DAY": "day({0})",
    "DOY": "dayofyear({0})",
    "DOW": "dayofweek({0})",
    "ISODOW": "(weekday({0}) + 1)",
    "ISOYEAR": "extract(YEAROFWEEK FROM {0})",
    "DECADE": "floor(year({0}) / 10)",
    "CENTURY": "ceil(year({0}) / 100)",
    "MILLENNIUM": "ceil(year({0}) / 1000)",
    "EPOCH": "(unix_micros(CAST({0} AS TIMESTAMP)) div 1000000)",
    "HOUR": "hour({0})",
    "MINUTE": "minute({0})",
    "SECOND": "second({0})",
    "MILLISECOND": "(pmod(unix_micros(CAST({0} AS TIMESTAMP)), 1000000) div 1000)",
    "MICROSECOND": "pmod(unix_micros(CAST({0} AS TIMESTAMP)), 1000000)",
    "NANOSECOND": "(pmod(unix_micros(CAST({0} AS TIMESTAMP)), 1000000) * 1000)",
}
_CLOCK = {
    "HOUR": "({0} div 3600000)",
    "MINUTE": "({0} div 60000 % 60)",
    "SECOND": "({0} div 1000 % 60)",
    "MILLISECOND": "({0} % 1000)",
}
_SPAN = {unit: f"extract({unit} FROM {{0}})" for unit in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")}
_SPAN |= {"MILLISECOND": "CAST(extract(SECOND FROM {0}) * 1000 AS BIGINT) % 1000"}
_MONTH_UNITS = frozenset({"YEAR", "MONTH"})


def _units(t: DataType) -> dict[str, str]:
    match t.root:
        case Root.TIME:
            return _CLOCK
        case Root.INTERVAL_YEAR_MONTH:
            return {unit: text for unit, text in _SPAN.items() if unit in _MONTH_UNITS}
        case Root.INTERVAL_DAY_TIME:
            return {unit: text for unit, text in _SPAN.items() if unit not in _MONTH_UNITS}
    return _CALENDAR


def _check_extract(args: Operands, options: Options) -> None:
    t, unit = args[0].type, str(options.get("unit", "")).upper()
    if unit not in _units(t) or (t.root is Root.DATE and unit in ("MICROSECOND", "NANOSECOND")):
        raise SignatureError(f"unit {unit} cannot be taken from {t.summary}")


def _extract(call: Lowered) -> str:
    unit = str(call.options["unit"]).upper()
    return extract_sql(unit, call.a[0], call.t[0], call.zone)


def extract_sql(unit: str, value: str, t: DataType, zone: str) -> str:
    """Return ``EXTRACT(unit FROM value)`` as BIGINT."""
    return f"CAST({_units(t)[unit].format(wall(value, t, zone))} AS BIGINT)"


def _field(unit: str) -> Callable[[Lowered], str]:
    return lambda call: extract_sql(unit, call.a[0], call.t[0], call.zone)


def _not_time(unit: str) -> Callable[[Operands, Options], None]:
    return lambda args, _: _check_extract(args, {"unit": unit})


_FIELDS = {unit: unit for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "HOUR", "MINUTE", "SECOND")}
_FIELDS |= {"DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "DAYOFWEEK": "DOW"}

# ---- rounding to a unit ------------------------------------------------------------------------------------------

_ROUND_UNITS = frozenset(
    {"MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"}
    | {"DECADE", "CENTURY", "MILLENNIUM"}
)
_CLOCK_MS = {"MILLISECOND": 1, "SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000}


def _check_round(args: Operands, options: Options) -> None:
    unit = str(options.get("unit", "")).upper()
    allowed = _CLOCK_MS if args[0].type.root is Root.TIME else _ROUND_UNITS
    if unit not in allowed:
        raise SignatureError(f"{args[0].type.summary} cannot be rounded to {unit}")


def _round_to(ceil: bool) -> Callable[[Lowered], str]:
    def lower(call: Lowered) -> str:
        unit, value, t = str(call.options["unit"]).upper(), call.a[0], call.t[0]
        if t.root is Root.TIME:
            size = _CLOCK_MS[unit]
            up = f" + {size - 1}" if ceil else ""
            return f"CAST(({value}{up}) div {size} * {size} AS INT)"
        if ceil and t.root is Root.DATE and unit == "DAY":
            return f"({value} + 1)"  # Flink's own: CEIL(DATE TO DAY) moves on
        text = f"flinkddl.round_timestamp({wall(value, t, call.zone)}, '{unit}', {str(ceil).lower()})"
        return from_wall(from_micros(text), t, call.zone)

    return lower


# ---- adding and subtracting --------------------------------------------------------------------------------------

_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MILLIS = {"WEEK": 7 * _DAY_MS, "DAY": _DAY_MS, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLISECOND": 1}
_NAMES = {f"SQL_TSI_{u}": u for u in (*_MONTHS, *_MILLIS)}


def _unit(options: Options) -> str:
    name = str(options.get("unit", "")).upper()
    name = _NAMES.get(name, name)
    if name not in _MONTHS and name not in _MILLIS:
        raise SignatureError(f"'{name}' is not a valid time frame")
    return name


def _check_add(args: Operands, options: Options) -> None:
    unit, t = _unit(options), args[1].type
    if unit == "MILLISECOND" and (t.root is Root.DATE or (t.root is Root.TIME and (t.precision or 0) < 3)):
        raise SignatureError(f"{t.summary} has no milliseconds to add to; cast it to one that has three digits of them")


def _add_result(args: Operands, options: Options) -> DataType:
    t = strip_attribute(args[1].type)
    clock = _unit(options) in ("HOUR", "MINUTE", "SECOND", "MILLISECOND")
    return T.TIMESTAMP(6) if t.root is Root.DATE and clock else t


def _add(call: Lowered) -> str:
    unit, (count, value) = _unit(call.options), call.a
    t = call.t[1]
    if unit in _MONTHS:
        span = f"make_ym_interval(0, CAST({count} * {_MONTHS[unit]} AS INT))"
        return add_interval(value, t, span, T.INTERVAL_YM(), call.zone)
    seconds = f"CAST(CAST({count} AS BIGINT) * {_MILLIS[unit]}L AS DECIMAL(24,6)) / 1000"
    span = f"make_dt_interval(0, 0, 0, CAST({seconds} AS DECIMAL(18,6)))"
    if t.root is Root.DATE and call.type.root is Root.TIMESTAMP:
        return f"(CAST({value} AS TIMESTAMP_NTZ) + {span})"
    return add_interval(value, t, span, T.INTERVAL_DT(), call.zone)


def _check_diff(args: Operands, options: Options) -> Sequence[DataType] | None:
    unit = _unit(options)
    roots = {a.type.root for a in args}
    _check_clocks(roots, unit)
    if Root.TIMESTAMP_LTZ in roots and len(roots) > 1:
        raise SignatureError("TIMESTAMP_LTZ can only be compared with TIMESTAMP_LTZ")
    return None


def _check_clocks(roots: set[Root], unit: str) -> None:
    """TIME goes with TIME, by units of the clock: Flink takes its milliseconds for days, or has no code at all."""
    if Root.TIME in roots and len(roots) > 1:
        raise SignatureError("a TIME has no day and can only be compared with a TIME; cast both to TIMESTAMP")
    if Root.TIME in roots and unit in _MONTHS:
        raise SignatureError(f"two TIMEs lie within one day, there are no {unit}s between them")


def _diff(call: Lowered) -> str:
    unit = _unit(call.options)
    if call.t[0].root is Root.TIME:
        return f"CAST(({call.a[1]} - {call.a[0]}) div {_MILLIS[unit]} AS INT)"
    a, b = (wall(x, t, "UTC") for x, t in zip(call.a, call.t, strict=True))
    if unit in _MONTHS:
        months = f"flinkddl.months_between({a}, {b})"
        return f"CAST({months} div {_MONTHS[unit]} AS INT)"
    return f"flinkddl.wrap_int(({micros(b)} - {micros(a)}) div {_MILLIS[unit] * 1000}L)"


def _check_minus(args: Operands, options: Options) -> None:
    roots = {a.type.root for a in args}
    if len(roots) > 1 and roots != T.TIMESTAMPS:
        raise SignatureError("both must be of the same type; cast one of them")
    _check_clocks(roots, _minus_unit(options))


def _minus_unit(options: Options) -> str:
    return str(options.get("unit", "")).partition(" ")[0]


def _minus_result(_: Operands, options: Options) -> DataType:
    months = _minus_unit(options) in _MONTHS
    return T.INTERVAL_YM("MONTH") if months else T.INTERVAL_DT("SECOND", None, 3)


def _minus(call: Lowered) -> str:
    """``(a - b) DAY``: the difference as an interval of milliseconds."""
    if call.t[0].root is Root.TIME:
        return milliseconds(f"({call.a[0]} - {call.a[1]})")
    a, b = (
        wall(cut(x, t, 3) if t.root in T.TIMESTAMPS and (t.precision or 0) > 3 else x, t, "UTC")
        for x, t in zip(call.a, call.t, strict=True)
    )
    if call.type.root is Root.INTERVAL_YEAR_MONTH:
        return f"make_ym_interval(0, CAST(flinkddl.months_between({b}, {a}) AS INT))"
    return f"({a} - {b})"


# ---- text --------------------------------------------------------------------------------------------------------


def _date_format(call: Lowered) -> str:
    value, pattern = call.a
    if call.t[0].root in T.CHARACTER:
        return f"flinkddl.reformat({value}, '{DEFAULT_FORMAT}', 'UTC', {pattern}, 'UTC')"
    return f"flinkddl.format_timestamp({wall(value, call.t[0], call.zone)}, {pattern})"


def _to_timestamp(call: Lowered) -> str:
    pattern = call.a[1] if len(call.a) > 1 else string(DEFAULT_FORMAT)
    parsed = f"flinkddl.parse_timestamp({call.a[0]}, {pattern}, false, false)"
    return from_micros(f"flinkddl.floor_to({parsed}, 1000L)")


def _to_date(call: Lowered) -> str:
    if len(call.a) == 1:
        return f"date_from_unix_date(flinkddl.cast_date({call.a[0]}, false))"
    return f"date_from_unix_date(flinkddl.parse_date({call.a[0]}, {call.a[1]}))"


def _ltz_result(args: Operands, _: Options) -> DataType:
    second: Any = args[1].value if len(args) > 1 else 3
    if args[0].type.root in T.CHARACTER:
        digits = str(second).count("S") if isinstance(second, str) else 3
        return T.TIMESTAMP_LTZ(min(9, max(3, digits)))
    return T.TIMESTAMP_LTZ(max(3, second) if isinstance(second, int) else 3)


def _check_ltz(args: Operands, _: Options) -> None:
    if args[0].type.root in T.NUMERIC and len(args) > 1:
        p: Any = args[1].value
        if not isinstance(p, int) or not 0 <= p <= 9:
            raise SignatureError("the precision must be a literal between 0 and 9")
    if len(args) == 3 and isinstance(args[2].value, str):
        _check_zone(args[2].value)


def _check_zone(name: str) -> None:
    from zoneinfo import available_timezones

    if name not in available_timezones() and not name.upper().startswith(("GMT", "UTC", "+", "-")):
        raise SignatureError(f"unknown time zone '{name}'")


_LAST_MICROS = 253402300800_000_000  # the first microsecond of the year 10000


def _to_ltz(call: Lowered) -> str:
    if call.t[0].root in T.CHARACTER:
        pattern = call.a[1] if len(call.a) > 1 else string(DEFAULT_FORMAT)
        nanos = str((call.type.precision or 0) > 6).lower()
        strict = str(len(call.a) == 1).lower()
        parsed = from_micros(f"flinkddl.parse_timestamp({call.a[0]}, {pattern}, {strict}, {nanos})")
        zone = call.a[2] if len(call.a) > 2 else None
        text = parsed if zone is None else f"convert_timezone({zone}, 'UTC', {parsed})"
        return cut(instant(text, "UTC"), call.type, call.type.precision)
    p: Any = call.literal(1) if len(call.a) > 1 else 3
    number = call.a[0] if call.t[0].root in T.INTEGER else f"flinkddl.to_long(CAST({call.a[0]} AS DOUBLE))"
    number = f"CAST({number} AS BIGINT)"
    if p > 6:
        unit, lost = 10 ** (p - 6), "raise_error('Spark holds microseconds, and the number has more digits')"
        return f"timestamp_micros(if({number} % {unit} = 0, {number} div {unit}, {lost}))"
    scale = 10 ** (6 - p)
    low = -62167219200_000_000 // scale
    return (
        f"if({number} >= {low}L AND {number} < {_LAST_MICROS // scale}L, timestamp_micros({number} * {scale}L), NULL)"
    )


def _unix_timestamp(call: Lowered) -> str:
    if not call.a:
        return "unix_timestamp()"
    pattern = call.a[1] if len(call.a) > 1 else string(DEFAULT_FORMAT)
    return f"flinkddl.unix_timestamp({call.a[0]}, {pattern}, {string(call.zone)})"


def _from_unixtime(call: Lowered) -> str:
    pattern = call.a[1] if len(call.a) > 1 else string(DEFAULT_FORMAT)
    return f"flinkddl.from_unixtime(CAST({call.a[0]} AS BIGINT), {pattern}, {string(call.zone)})"


_NOW = "current_timestamp()"
_NOW_LTZ = T.TIMESTAMP_LTZ(3)


def _now(call: Lowered) -> str:
    """The current moment as the result type says."""
    local = wall(_NOW, _NOW_LTZ, call.zone)
    match call.type.root:
        case Root.DATE:
            return f"CAST({local} AS DATE)"
        case Root.TIME:
            return f"CAST(pmod({micros(local)} div 1000000, 86400) * 1000 AS INT)"
        case Root.TIMESTAMP:
            return cut(local, T.TIMESTAMP(3), 3)
    return cut(_NOW, _NOW_LTZ, 3)


_BIG = T.BIGINT
FUNCTIONS = (
    Function("EXTRACT", "datetime;interval", _BIG, _extract, check=_check_extract),
    *(Function(name, "datetime;interval", _BIG, _field(u), check=_not_time(u)) for name, u in _FIELDS.items()),
    Function("FLOOR_TO", "datetime", same(), _round_to(False), check=_check_round),
    Function("CEIL_TO", "datetime", same(), _round_to(True), check=_check_round),
    Function("TIMESTAMPADD", "integer datetime", _add_result, _add, check=_check_add),
    Function("TIMESTAMPDIFF", "datetime datetime", T.INT, _diff, check=_check_diff),
    Function("MINUS_DATE", "datetime datetime", _minus_result, _minus, check=_check_minus),
    Function("DATE_FORMAT", "timestamp string;string string", S, _date_format, nulls="yes"),
    Function("TO_TIMESTAMP", "string string?", T.TIMESTAMP(3), _to_timestamp, nulls="yes"),
    Function("TO_DATE", "string string?", T.DATE, _to_date, nulls="yes"),
    Function(
        "TO_TIMESTAMP_LTZ", "numeric int?;string string? string?", _ltz_result, _to_ltz, nulls="yes", check=_check_ltz
    ),
    Function("UNIX_TIMESTAMP", ";string string?", _BIG, _unix_timestamp, deterministic=False),
    Function("FROM_UNIXTIME", "integer string?", S, _from_unixtime, nulls="yes"),
    Function(
        "CONVERT_TZ",
        "string string string",
        S,
        f"flinkddl.reformat({{0}}, '{DEFAULT_FORMAT}', {{1}}, '{DEFAULT_FORMAT}', {{2}})",
        nulls="yes",
    ),
    Function("CURRENT_DATE", "", T.DATE, _now, nulls="no", deterministic=False),
    Function("CURRENT_TIME", "", T.TIME(0), _now, nulls="no", deterministic=False),
    Function("LOCALTIME", "", T.TIME(0), _now, nulls="no", deterministic=False),
    Function("LOCALTIMESTAMP", "", T.TIMESTAMP(3), _now, nulls="no", deterministic=False),
    *(
        Function(name, "", T.TIMESTAMP_LTZ(3), _now, nulls="no", deterministic=False)
        for name in ("CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP")
    ),
    Function("PROCTIME", "", T.PROCTIME, _now, nulls="no", deterministic=False),
    Function("CURRENT_WATERMARK", "timestamp", _NOW_LTZ, "", reason="Spark shows no watermark to an expression"),
    Function("SOURCE_WATERMARK", "", _NOW_LTZ, "", reason="it only means something to a source that has watermarks"),
)
