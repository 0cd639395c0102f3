"""Text functions. Kernels (``flinkddl.``) stand where Spark's function of that name answers differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.core import NO_VALUE, Function, Lowered, Operands, Options, SignatureError, same, string
from flinkddl.functions.typing import concat_type
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.sqltypes import DataType

S = T.STRING


def _no_binary(args: Operands) -> None:
    if args[0].type.root in T.BYTES_FAMILY:
        raise SignatureError("a string expression is expected")


def _varying(args: Operands, _: Options) -> DataType:
    """VARCHAR of the argument's length: what cuts or trims may be shorter."""
    length = args[0].type.precision
    return T.VARCHAR(T.MAX_LENGTH if length is None else length)


def _concat(args: Operands, _: Options) -> DataType:
    return concat_type([a.type for a in args])


def _case_text(function: str) -> Callable[[Lowered], str]:
    def lower(call: Lowered) -> str:
        text, value = f"{function}({call.a[0]})", call.literal(0)
        # Flink folds a literal while planning and keeps its length: UPPER('straße') is STRASS
        grows = isinstance(value, str) and len(getattr(value, function)()) > len(value)
        return f"left({text}, {call.type.precision})" if grows else text

    return lower


def _position_is_int(args: Operands, _: Options) -> None:
    if any(a.type.root is Root.BIGINT for a in args[1:]):
        raise SignatureError("a BIGINT position does not run in Flink; cast it to INT")


_SUBSTRING = {
    2: "if({1} < -char_length({0}), '', substring({0}, {1}))",
    3: "(CASE WHEN {2} < 0 THEN NULL WHEN {1} < -char_length({0}) THEN '' ELSE substring({0}, {1}, {2}) END)",
}


def _substring(call: Lowered) -> str:
    known = [call.literal(i) for i in range(1, len(call.a))]
    if all(isinstance(v, int) and v >= 0 for v in known):
        return f"substring({', '.join(call.a)})"
    return _SUBSTRING[len(call.a)].format(*call.a)


def _trim(call: Lowered) -> str:
    if len(call.a) == 1:
        return f"trim({call.a[0]})"
    chars, text = call.a
    return f"trim({call.options.get('where', 'BOTH')} {chars} FROM {text})"


def _like(call: Lowered) -> str:
    text, pattern = call.a[:2]
    known = call.literal(1)
    escape = call.literal(2) if len(call.a) > 2 else ""
    if escape is NO_VALUE or (escape and len(escape) != 1):
        raise SignatureError("ESCAPE takes one character as a literal")
    if escape:
        return f"({text} LIKE {pattern} ESCAPE {string(escape)})"
    # Flink has no default escape character, Spark's is the backslash
    if known is not NO_VALUE and known is not None:
        return f"({text} LIKE {string(known.replace(chr(92), chr(92) * 2))})"
    return f"({text} LIKE replace({pattern}, '\\\\', '\\\\\\\\'))"


def _escape_fits(args: Operands, _: Options) -> None:
    """Refuse a literal pattern whose escape character stands before an ordinary one, as Flink does."""
    if len(args) < 3 or not isinstance(args[2].value, str) or not isinstance(args[1].value, str):
        return
    pattern, escape = args[1].value, args[2].value
    at = 0
    while escape and (at := pattern.find(escape, at)) >= 0:
        if at + 1 >= len(pattern) or pattern[at + 1] not in "%_" + escape:
            raise SignatureError(f"invalid escape sequence '{pattern}', {at}")
        at += 2


def _overlay_type(args: Operands, _: Options) -> DataType:
    return T.VARCHAR(concat_type([a.type for a in args[:2]]).precision or T.MAX_LENGTH)


def _split_index(call: Lowered) -> str:
    separator = call.a[1] if call.t[1].root in T.CHARACTER else f"chr({call.a[1]})"
    return f"flinkddl.split_index({call.a[0]}, {separator}, {call.a[2]})"


def _printf(call: Lowered) -> str:
    values = ", ".join(call.a[1:])
    return f"flinkddl.printf({call.a[0]}, struct({values or '1'}))"


def _sha2(call: Lowered) -> str:
    text, bits = call.a
    wrong = f"raise_error(concat('SHA-', {bits}, ' MessageDigest not available'))"
    known = f"sha2(CAST({text} AS BINARY), {bits})"
    short = f"WHEN {bits} = 1 THEN sha1(CAST({text} AS BINARY)) WHEN {bits} IS NULL THEN NULL"
    return f"(CASE WHEN {bits} IN (224, 256, 384, 512) THEN {known} {short} ELSE {wrong} END)"


def _sha2_fits(args: Operands, _: Options) -> None:
    if isinstance(args[1].value, int) and args[1].value not in (224, 256, 384, 512):
        raise SignatureError("the length must be 224, 256, 384 or 512")


def _elt_fits(args: Operands, _: Options) -> None:
    if isinstance(args[0].value, int) and args[0].value < 0:
        raise SignatureError(f"the index must not be negative, but was {args[0].value}")


def _inet_aton(call: Lowered) -> str:
    """``127.1`` is 127.0.0.1: the last part fills what is left of the four bytes."""
    text = call.a[0]
    parts = f"transform(split({text}, '\\\\.'), x -> CAST(x AS BIGINT))"
    head = f"slice({parts}, 1, size({parts}) - 1)"
    last, room = f"element_at({parts}, -1)", f"shiftleft(1L, 8 * (5 - size({parts})))"
    fits = f"NOT exists({head}, x -> x > 255) AND {last} < {room}"
    value = f"aggregate({head}, 0L, (a, x) -> a * 256 + x) * {room} + {last}"
    return f"(CASE WHEN {text} rlike '^[0-9]{{1,10}}(\\\\.[0-9]{{1,10}}){{0,3}}$' THEN if({fits}, {value}, NULL) END)"


def _initcap(call: Lowered) -> str:
    words = f"regexp_extract_all({call.a[0]}, '([A-Za-z0-9]+|[^A-Za-z0-9]+)', 1)"
    word = "if(x rlike '^[A-Za-z0-9]', concat(upper(left(x, 1)), lower(substring(x, 2))), x)"
    return f"array_join(transform({words}, x -> {word}), '')"


# an empty search text stands between all characters
_REPLACE = "if({1} = '', flinkddl.regexp_replace({0}, '', {2}), replace({0}, {1}, {2}))"
_URL_PART = "try_parse_url({all})"
_NTOA = "concat_ws('.', shiftright({0}, 24), shiftright({0}, 16) & 255, shiftright({0}, 8) & 255, {0} & 255)"
_OVERLAY = "flinkddl.overlay({all})"
_STR_TO_MAP = {1: "flinkddl.str_to_map({0}, ',', '=')", 3: "flinkddl.str_to_map({all})"}
FUNCTIONS = (
    Function("||", "string string*;binary binary", _concat, "concat({all})", check=lambda a, _: _no_binary(a)),
    Function("CONCAT", "string string*", S, "concat({all})"),
    Function("CONCAT_WS", "string string*", S, "concat_ws({all})"),
    Function("CHAR_LENGTH", "string", T.INT, "char_length({0})"),
    Function("UPPER", "string", same(), _case_text("upper")),
    Function("LOWER", "string", same(), _case_text("lower")),
    Function("REVERSE", "STRING", S, "reverse({0})", nulls="yes"),
    Function("REPEAT", "string int", S, "repeat({0}, {1})"),
    Function(
        "POSITION",
        "string string;string string int",
        T.INT,
        {2: "locate({0}, {1})", 3: "locate({0}, {1}, greatest({2}, 1))"},
    ),
    Function(
        "LOCATE",
        "string string;string string int",
        T.INT,
        {2: "locate({0}, {1})", 3: "if({2} IS NULL, NULL, locate({0}, {1}, greatest({2}, 1)))"},
    ),
    Function(
        "INSTR",
        "string string;string string int;string string int int",
        T.INT,
        {2: "instr({0}, {1})", 3: "flinkddl.instr({0}, {1}, {2}, 1)", 4: "flinkddl.instr({all})"},
    ),
    Function("PRINTF", "string any*", S, _printf, nulls="yes"),
    Function("TRIM", "string;string string", lambda a, o: _varying(a[-1:], o), _trim),
    Function("LTRIM", "string string?", _varying, {1: "ltrim({0})", 2: "trim(LEADING {1} FROM {0})"}),
    Function("RTRIM", "string string?", _varying, {1: "rtrim({0})", 2: "trim(TRAILING {1} FROM {0})"}),
    Function("BTRIM", "string string?", _varying, {1: "trim({0})", 2: "trim(BOTH {1} FROM {0})"}),
    Function("SUBSTRING", "string integer;string integer integer", _varying, _substring, "yes", _position_is_int),
    Function("LEFT", "string integer", _varying, "left({0}, CAST({1} AS INT))", nulls="yes"),
    Function("RIGHT", "string integer", _varying, "right({0}, CAST({1} AS INT))", nulls="yes"),
    Function("REPLACE", "string string string", S, _REPLACE),
    Function(
        "TRANSLATE",
        "STRING STRING STRING",
        S,
        "if({1} IS NULL OR {1} = '', {0}, translate({0}, {1}, coalesce({2}, '')))",
        nulls="first",
    ),
    Function("INITCAP", "string", S, _initcap),
    Function("STARTSWITH", "string string;binary binary", T.BOOLEAN, "startswith({0}, {1})"),
    Function("ENDSWITH", "string string;binary binary", T.BOOLEAN, "endswith({0}, {1})"),
    Function("LPAD", "string integer string", S, "flinkddl.lpad({0}, CAST({1} AS INT), {2})"),
    Function("RPAD", "string integer string", S, "flinkddl.rpad({0}, CAST({1} AS INT), {2})"),
    Function("OVERLAY", "string string integer;string string integer integer", _overlay_type, _OVERLAY),
    Function("SPLIT_INDEX", "string string int;string int int", S, _split_index, "yes", _position_is_int),
    Function("SPLIT", "STRING STRING", lambda a, _: T.ARRAY(S), "flinkddl.split_text({0}, {1})"),
    Function("STR_TO_MAP", "string;string string string", lambda a, _: T.MAP(S, S), _STR_TO_MAP, nulls="yes"),
    Function(
        "ELT", "int STRING STRING*", S, lambda c: f"get(array({', '.join(c.a[1:])}), {c.a[0]} - 1)", "yes", _elt_fits
    ),
    Function("ASCII", "STRING", T.INT, "flinkddl.ascii({0})"),
    Function("CHR", "integer", S, "chr(CAST({0} AS BIGINT))", nulls="yes"),
    Function("ENCODE", "string string", T.BYTES, "flinkddl.encode({0}, {1})"),
    Function("DECODE", "binary string", S, "flinkddl.decode({0}, {1})"),
    Function("FROM_BASE64", "string", S, "flinkddl.from_base64({0})"),
    Function("TO_BASE64", "string;binary", S, "flinkddl.to_base64(CAST({0} AS BINARY))"),
    Function("URL_ENCODE", "STRING", S, "url_encode({0})", nulls="yes"),
    Function("URL_DECODE", "STRING", S, "try_url_decode({0})", nulls="yes"),
    Function("PARSE_URL", "string string string?", S, _URL_PART, nulls="yes"),
    Function("INET_ATON", "STRING", T.BIGINT, _inet_aton, nulls="yes"),
    Function("INET_NTOA", "BIGINT", S, f"if({{0}} BETWEEN 0 AND 4294967295L, {_NTOA}, NULL)", nulls="yes"),
    Function("IS_ALPHA", "STRING", T.BOOLEAN, "coalesce({0} rlike '^\\\\p{{L}}+$', false)", nulls="no"),
    Function("IS_DIGIT", "STRING", T.BOOLEAN, "coalesce({0} rlike '^\\\\p{{Nd}}+$', false)", nulls="no"),
    Function("IS_DECIMAL", "STRING", T.BOOLEAN, "(flinkddl.cast_double({0}, false) IS NOT NULL)", nulls="no"),
    Function("REGEXP", "string string", T.BOOLEAN, "flinkddl.regexp({0}, {1})"),
    Function("REGEXP_REPLACE", "string string string", S, "flinkddl.regexp_replace({all})"),
    Function(
        "REGEXP_EXTRACT",
        "string string integer?",
        S,
        {2: "flinkddl.regexp_extract({all}, 0)", 3: "flinkddl.regexp_extract({all})"},
        nulls="yes",
    ),
    Function(
        "REGEXP_EXTRACT_ALL",
        "string string integer?",
        T.ARRAY(S),
        {2: "flinkddl.regexp_extract_all({all}, 1)", 3: "flinkddl.regexp_extract_all({all})"},
        nulls="yes",
    ),
    Function("REGEXP_COUNT", "string string", T.INT, "size(flinkddl.regexp_extract_all({all}, 0))", nulls="yes"),
    Function("REGEXP_INSTR", "string string", T.INT, "flinkddl.regexp_instr({all})", nulls="yes"),
    Function("REGEXP_SUBSTR", "string string", S, "flinkddl.regexp_extract({all}, 0)", nulls="yes"),
    Function("LIKE", "string string string?", T.BOOLEAN, _like, check=_escape_fits),
    Function(
        "SIMILAR TO",
        "string string string?",
        T.BOOLEAN,
        {2: "flinkddl.similar({0}, {1}, '')", 3: "flinkddl.similar({all})"},
    ),
    Function("MD5", "string", T.CHAR(32), "md5(CAST({0} AS BINARY))"),
    Function("SHA1", "string", T.CHAR(40), "sha1(CAST({0} AS BINARY))"),
    *(Function(f"SHA{n}", "string", T.CHAR(n // 4), f"sha2(CAST({{0}} AS BINARY), {n})") for n in (224, 256, 384, 512)),
    Function("SHA2", "string int", T.VARCHAR(128), _sha2, check=_sha2_fits),
    Function("HASH_CODE", "string", T.INT, "flinkddl.hash_code({0})"),
)
