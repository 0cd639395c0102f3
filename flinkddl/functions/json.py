"""SQL/JSON functions: the paths and clauses are literals, the constructors are put together from texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.functions.core import NO_VALUE, Function, Lowered, Operands, Options, SignatureError, string
from flinkddl.sqltypes import Root, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.sqltypes import DataType

S = T.STRING

# ---- reading -----------------------------------------------------------------------------------------------------


def _path(args: Operands, _: Options) -> None:
    if len(args) > 1:
        path = args[1].value
        if path is NO_VALUE or not isinstance(path, str):
            raise SignatureError("the JSON path must be a literal")
        if "?(" in path:
            raise SignatureError("filters in JSON paths are not available on Spark")


def _default(behaviour: Any) -> str:
    """The argument of a kernel for one ON EMPTY or ON ERROR clause: NULL, ``'!'`` or ``'=text'``."""
    match behaviour:
        case None | "NULL":
            return "CAST(NULL AS STRING)"
        case "ERROR":
            return "'!'"
        case "EMPTY ARRAY":
            return "'=[]'"
        case "EMPTY OBJECT":
            return "'={{}}'".replace("{{}}", "{}")
        case ("DEFAULT", value):
            return string(f"={value}")
    raise ValueError(behaviour)


_EXISTS = {"TRUE": "T", "FALSE": "F", "UNKNOWN": "U", "ERROR": "!"}


def _exists(call: Lowered) -> str:
    on_error = _EXISTS[str(call.options.get("on_error") or "FALSE")]
    return f"flinkddl.json_exists({call.a[0]}, {call.a[1]}, '{on_error}')"


_RETURNING = {Root.VARCHAR: "", Root.INT: "INT", Root.BOOLEAN: "BOOLEAN", Root.DOUBLE: "DOUBLE"}


def _value_result(_: Operands, options: Options) -> DataType:
    t = options.get("returning")
    return t if isinstance(t, T.DataType) else S


def _check_value(args: Operands, options: Options) -> None:
    _path(args, options)
    t = _value_result(args, options)
    if t.root not in _RETURNING or (t.root is Root.VARCHAR and t.precision != T.MAX_LENGTH):
        raise SignatureError(f"unsupported type '{t.summary}' for RETURNING in JSON_VALUE")


def _value(call: Lowered) -> str:
    kind = _RETURNING[call.type.root]
    empty, error = (_default(call.options.get(k)) for k in ("on_empty", "on_error"))
    text = f"flinkddl.json_value({call.a[0]}, {call.a[1]}, '{kind}', {empty}, {error})"
    match call.type.root:
        case Root.INT:
            return f"CAST({text} AS INT)"
        case Root.BOOLEAN:
            return f"CAST({text} AS BOOLEAN)"
        case Root.DOUBLE:
            return f"flinkddl.cast_double({text}, true)"
    return text


_WRAPPER = {None: "", "WITHOUT ARRAY": "", "WITH UNCONDITIONAL ARRAY": "U", "WITH CONDITIONAL ARRAY": "C"}


def _check_query(args: Operands, options: Options) -> None:
    _path(args, options)
    t = _value_result(args, options)
    if t.root is Root.ARRAY and t.element.root is not Root.VARCHAR:
        raise SignatureError(f"unsupported array element type '{t.element.summary}' for RETURNING in JSON_QUERY")


def _query(call: Lowered) -> str:
    empty, error = (_default(call.options.get(k)) for k in ("on_empty", "on_error"))
    wrapper = _WRAPPER[call.options.get("wrapper")]
    text = f"flinkddl.json_query({call.a[0]}, {call.a[1]}, '{wrapper}', {empty}, {error})"
    return f"flinkddl.json_texts({text})" if call.type.root is Root.ARRAY else text


def _is_json(negated: bool):  # type: ignore[no-untyped-def]
    def lower(call: Lowered) -> str:
        text = f"flinkddl.is_json({call.a[0]}, '{call.options.get('kind', 'VALUE')}')"
        return f"(NOT {text})" if negated else text

    return lower


# ---- writing -----------------------------------------------------------------------------------------------------

_PLAIN = T.NUMERIC | T.CHARACTER | T.BYTES_FAMILY | T.TIMESTAMPS | {Root.BOOLEAN, Root.NULL, Root.VARIANT}


def writable(t: DataType) -> None:
    """Raise SignatureError for a type that Flink does not write as JSON."""
    match t.root:
        case Root.ARRAY | Root.MULTISET:
            writable(t.element)
        case Root.MAP:
            if t.key.root not in T.CHARACTER:
                raise SignatureError(f"a JSON object cannot have keys of type {t.key.summary}")
            writable(t.value)
        case Root.ROW:
            for f in t.fields:
                writable(f.type)
        case root if root not in _PLAIN:
            raise SignatureError(f"type '{t.summary}' cannot be converted into JSON")


def json_text(value: str, t: DataType, zone: str) -> str:
    """Return a value as JSON text; NULL stays NULL."""
    match t.root:
        case Root.CHAR | Root.VARCHAR:
            return f"flinkddl.json_text({value}, false)"
        case Root.FLOAT | Root.DOUBLE:
            return f"flinkddl.json_number(CAST({value} AS DOUBLE))"
        case Root.BINARY | Root.VARBINARY:
            return f"concat('\"', flinkddl.to_base64({value}), '\"')"
        case Root.TIMESTAMP:
            return f"concat('\"', flinkddl.iso_text({value}), '\"')"
        case Root.TIMESTAMP_LTZ:
            return f"concat('\"', flinkddl.iso_text(CAST({value} AS TIMESTAMP_NTZ)), 'Z\"')"
        case Root.ARRAY:
            return f"concat('[', array_join(transform({value}, x -> {_or_null('x', t.element, zone)}), ','), ']')"
        case Root.MAP:
            entry = f"concat(flinkddl.json_text(e.key, false), ':', {_or_null('e.value', t.value, zone)})"
            return f"concat('{{', array_join(transform(array_sort(map_entries({value})), e -> {entry}), ','), '}}')"
        case Root.ROW:
            members = {f.name: _or_null(f"{value}.{quote(f.name)}", f.type, zone) for f in t.fields}
            return f"if({value} IS NULL, NULL, {_object(members)})"
        case Root.VARIANT:
            return f"to_json({value})"
    return f"CAST({value} AS STRING)"


def _or_null(value: str, t: DataType, zone: str) -> str:
    text = json_text(value, t, zone)
    return f"coalesce({text}, 'null')" if t.nullable else text


def _object(members: dict[str, str]) -> str:
    """Members sorted by name, as Flink writes them."""
    parts = [f"{string(_name(k) + ':')}, {v}" for k, v in sorted(members.items())]
    return "concat('{', " + ", ',', ".join(parts) + ", '}')" if parts else "'{}'"


def _name(key: str) -> str:
    import json

    return json.dumps(key, ensure_ascii=False)


def raw_json(call: Lowered, i: int) -> str:
    """Return the JSON text of argument ``i``: nested constructors are JSON already."""
    if i in call.options.get("raw", ()):
        return call.a[i]
    return json_text(call.a[i], call.t[i], call.zone)


def _check_object(args: Operands, options: Options) -> None:
    if len(args) % 2:
        raise SignatureError("a JSON object needs pairs of key and value")
    for key, value in zip(args[::2], args[1::2], strict=True):
        if key.type.root not in T.CHARACTER or key.type.nullable:
            raise SignatureError(f"a key of JSON_OBJECT must be a character string that is never NULL, not {key.type}")
        writable(value.type)


def _object_text(call: Lowered) -> str:
    if any(not isinstance(call.literal(i), str) for i in range(0, len(call.a), 2)):
        values = ", ".join(raw_json(call, i) for i in range(1, len(call.a), 2))
        absent = str(call.options.get("nulls") == "ABSENT").lower()
        return f"flinkddl.json_members(array({', '.join(call.a[::2])}), array({values}), {absent})"
    members = {str(call.literal(i)): i + 1 for i in range(0, len(call.a), 2)}
    if call.options.get("nulls") != "ABSENT" or not any(call.t[i].nullable for i in members.values()):
        return _object({k: f"coalesce({raw_json(call, i)}, 'null')" for k, i in members.items()})
    parts = ", ".join(f"concat({string(_name(k) + ':')}, {raw_json(call, i)})" for k, i in sorted(members.items()))
    return f"concat('{{', concat_ws(',', {parts}), '}}')"


def _check_array(args: Operands, _: Options) -> Sequence[DataType] | None:
    for arg in args:
        writable(arg.type)
    return None


def _array_text(call: Lowered) -> str:
    if call.options.get("nulls") == "NULL":
        parts = [f"coalesce({raw_json(call, i)}, 'null')" for i in range(len(call.a))]
    else:
        parts = [raw_json(call, i) for i in range(len(call.a))]
    return f"concat('[', concat_ws(',', {', '.join(parts)}), ']')" if parts else "'[]'"


def writes(index: int) -> Callable[[Operands, Options], None]:
    """Return the check that an argument can be written as JSON."""
    return lambda args, _: writable(args[index].type)


B = T.BOOLEAN
FUNCTIONS = (
    Function("IS JSON", "string", B, _is_json(False), nulls="no"),
    Function("IS NOT JSON", "string", B, _is_json(True), nulls="no"),
    Function("JSON_EXISTS", "string string", B, _exists, nulls="yes", check=_path),
    Function("JSON_VALUE", "string string", _value_result, _value, nulls="yes", check=_check_value),
    Function("JSON_QUERY", "string string", _value_result, _query, nulls="yes", check=_check_query),
    Function("JSON_OBJECT", "any*", S, _object_text, nulls="no", check=_check_object),
    Function("JSON_ARRAY", "any*", S, _array_text, nulls="no", check=_check_array),
    Function("JSON", "string", S, "flinkddl.json_checked({0})"),
    Function("JSON_STRING", "any", S, lambda c: json_text(c.a[0], c.t[0], c.zone), check=writes(0)),
    Function("JSON_QUOTE", "STRING", S, "flinkddl.json_text({0}, true)"),
    Function("JSON_UNQUOTE", "STRING", S, "flinkddl.json_unquote({0})"),
    Function("PARSE_JSON", "STRING BOOLEAN?", T.VARIANT, "parse_json({0})"),
    Function("TRY_PARSE_JSON", "STRING BOOLEAN?", T.VARIANT, "try_parse_json({0})", nulls="yes"),
)
