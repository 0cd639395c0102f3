"""Arrays, maps, rows and VARIANT: constructors, access, functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.core import NO_VALUE, Function, Lowered, Operands, Options, SignatureError, same, string
from flinkddl.functions.typing import can_cast_implicitly, common_type
from flinkddl.sqltypes import Root, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.sqltypes import DataType

# ---- constructors ------------------------------------------------------------------------------------------------


def _common(types: Sequence[DataType], what: str) -> DataType:
    merged = common_type(types)
    if merged is None:
        raise SignatureError(f"{what} must be of the same type")
    return merged


def _array_types(args: Operands, _: Options) -> Sequence[DataType]:
    if not args:
        raise SignatureError("an array needs at least one element")
    merged = _common([a.type for a in args], "the elements of an array")
    return [merged.with_nullable(a.type.nullable) for a in args]


def _array_result(args: Operands, _: Options) -> DataType:
    return T.ARRAY(_common([a.type for a in args], "elements"))


def _map_types(args: Operands, _: Options) -> Sequence[DataType]:
    if not args or len(args) % 2:
        raise SignatureError("a map needs pairs of key and value")
    key = _common([a.type for a in args[::2]], "the keys of a map")
    value = _common([a.type for a in args[1::2]], "the values of a map")
    return [(value if i % 2 else key).with_nullable(a.type.nullable) for i, a in enumerate(args)]


def _map_result(args: Operands, _: Options) -> DataType:
    return T.MAP(_common([a.type for a in args[::2]], "keys"), _common([a.type for a in args[1::2]], "values"))


def _map_text(call: Lowered) -> str:
    """Spark's map takes no NULL for a key, ours does, as Flink's; and of equal keys Spark's asks the session."""
    make = "map_of" if any(t.nullable for t in call.t[::2]) else "map_last"
    return f"flinkddl.{make}(array({', '.join(call.a[::2])}), array({', '.join(call.a[1::2])}))"


def _map_union(call: Lowered) -> str:
    return f"flinkddl.map_last(concat({', '.join(f'map_entries({a})' for a in call.a)}))"


def _row_result(args: Operands, _: Options) -> DataType:
    return T.ROW(*((f"EXPR${i}", a.type) for i, a in enumerate(args)))


def _row(call: Lowered) -> str:
    return f"named_struct({', '.join(f'{string(f.name)}, {a}' for f, a in zip(call.type.fields, call.a, strict=True))})"


# ---- access ------------------------------------------------------------------------------------------------------


def _item_types(args: Operands, _: Options) -> Sequence[DataType] | None:
    value, index = args[0].type, args[1].type
    match value.root:
        case Root.ARRAY:
            if index.root is not Root.INT:
                raise SignatureError("an array takes an INT index")
            position = args[1].value
            if isinstance(position, int) and position < 1:
                raise SignatureError(f"array element access needs an index starting at 1 but was {position}")
        case Root.MAP:
            if not (can_cast_implicitly(index, value.key) or can_cast_implicitly(value.key, index)):
                raise SignatureError(f"a key of {value.summary} is no {index.summary}")
            return [value, value.key.with_nullable(index.nullable)] if index.root not in T.CHARACTER else None
        case Root.VARIANT:
            if args[1].value is NO_VALUE:
                raise SignatureError("a VARIANT takes a literal index or field name")
        case _:
            raise SignatureError("expected <ARRAY>[<INTEGER>], <MAP>[<ANY>] or <VARIANT>[..]")
    return None


def _item_result(args: Operands, _: Options) -> DataType:
    t = args[0].type
    return {Root.ARRAY: lambda: t.element, Root.MAP: lambda: t.value}.get(t.root, lambda: T.VARIANT)()


def _item(call: Lowered) -> str:
    value, index = call.a
    match call.t[0].root:
        case Root.ARRAY:
            return f"get({value}, {index} - 1)"
        case Root.MAP:
            return f"try_element_at({value}, {index})"
    key = call.literal(1)
    if isinstance(key, int):
        return f"try_variant_get({value}, '$[{key - 1}]', 'variant')" if key > 0 else "CAST(NULL AS VARIANT)"
    path = "$[" + '"' + str(key).replace('"', '\\"') + '"' + "]"
    none = "raise_error('a field is taken from a VARIANT that is no object')"
    field = f"try_variant_get({value}, {string(path)}, 'variant')"
    return f"if({value} IS NULL, NULL, if(schema_of_variant({value}) LIKE 'OBJECT%', {field}, {none}))"


def _element_type(args: Operands, _: Options) -> DataType:
    return args[0].type.element


def _element(call: Lowered) -> str:
    a = call.a[0]
    many = "raise_error('Array has more than one element.')"
    return f"if(size({a}) > 1, {many}, get({a}, 0))"


# ---- arrays ------------------------------------------------------------------------------------------------------


def _element_arg(args: Operands, _: Options) -> Sequence[DataType]:
    """The second argument becomes an element of the first."""
    element, given = args[0].type.element, args[1].type
    if not can_cast_implicitly(given, element):
        raise SignatureError(f"{given.summary} is no element of {args[0].type.summary}")
    return [args[0].type, element.with_nullable(given.nullable)]


def _with_element(args: Operands, _: Options) -> DataType:
    t = args[0].type
    return T.ARRAY(t.element.with_nullable(t.element.nullable or args[1].type.nullable))


def _same_arrays(args: Operands, _: Options) -> Sequence[DataType]:
    merged = _common([a.type for a in args], "the arrays")
    return [merged.with_nullable(a.type.nullable) for a in args]


def _first_of(kind: str) -> Callable[[Operands, Options], DataType]:
    return lambda args, _: _common([a.type for a in args], kind)


def _null_if_any(text: Callable[[Lowered], str] | str) -> Callable[[Lowered], str]:
    """NULL when one of the nullable arguments is NULL (Spark's function would skip it)."""

    def lower(call: Lowered) -> str:
        return _guarded(call, text.format(*call.a, all=", ".join(call.a)) if isinstance(text, str) else text(call))

    return lower


def _guarded(call: Lowered, text: str, first: int = 0) -> str:
    """NULL when one of the nullable arguments from ``first`` on is NULL, else the text."""
    nullable = [a for a, t in zip(call.a[first:], call.t[first:], strict=True) if t.nullable]
    return f"if({' OR '.join(f'{a} IS NULL' for a in nullable)}, NULL, {text})" if nullable else text


def _slice(call: Lowered) -> str:
    a, start = call.a[0], call.a[1]
    size = f"size({a})"
    end = call.a[2] if len(call.a) > 2 else size

    def place(i: str) -> str:
        return f"(CASE WHEN {i} IN (0, -1 - {size}) THEN 1 WHEN {i} < 0 THEN {size} + {i} + 1 ELSE {i} END)"

    first, last = f"greatest({place(start)}, 1)", f"least({place(end)}, {size})"
    none = f"CAST(array() AS {spark_type(call.type)})"
    return _guarded(call, f"if({size} = 0 OR {first} > {last}, {none}, slice({a}, {first}, {last} - {first} + 1))")


def _sort(call: Lowered) -> str:
    a = call.a[0]
    ascending = call.a[1] if len(call.a) > 1 else "true"
    text = f"if({ascending}, sort_array({a}, true), sort_array({a}, false))"
    if len(call.a) > 2:
        bare = f"filter({a}, x -> x IS NOT NULL)"
        nulls = f"filter({a}, x -> x IS NULL)"
        ordered = f"if({ascending}, sort_array({bare}, true), sort_array({bare}, false))"
        text = f"if({call.a[2]}, concat({nulls}, {ordered}), concat({ordered}, {nulls}))"
    return _guarded(call, text, 1)


def _entries(args: Operands, _: Options) -> DataType:
    t = args[0].type
    return T.ARRAY(T.ROW(("key", t.key), ("value", t.value)))


_ORDERED = T.NUMERIC | T.CHARACTER | T.BYTES_FAMILY | T.DATETIME | T.INTERVAL


def _comparable_elements(args: Operands, _: Options) -> None:
    element = args[0].type.element
    if element.root not in _ORDERED:
        raise SignatureError(f"the elements must have an order, and {element.summary} has none")


def _sortable_elements(args: Operands, _: Options) -> None:
    if args[0].type.element.root in T.COLLECTION:
        raise SignatureError(f"{args[0].type.element.summary} has no order")


A = "array"
FUNCTIONS = (
    Function("ARRAY", "null*", _array_result, "array({all})", nulls="no", check=_array_types),
    Function("MAP", "null*", _map_result, _map_text, nulls="no", check=_map_types),
    Function("ROW", "null*", _row_result, _row, nulls="no"),
    Function("ITEM", "any any", _item_result, _item, nulls="yes", check=_item_types),
    Function("ELEMENT", A, _element_type, _element, nulls="yes"),
    Function("CARDINALITY", "array;map", T.INT, "size({0})"),
    Function("ARRAY_APPEND", "array null", _with_element, "array_append({0}, {1})", nulls="first", check=_element_arg),
    Function(
        "ARRAY_PREPEND", "array null", _with_element, "array_prepend({0}, {1})", nulls="first", check=_element_arg
    ),
    Function("ARRAY_CONCAT", "array array*", _first_of("the arrays"), "concat({all})", check=_same_arrays),
    Function("ARRAY_CONTAINS", "array null", T.BOOLEAN, "exists({0}, x -> x <=> {1})", "first", _element_arg),
    Function("ARRAY_DISTINCT", A, same(), "array_distinct({0})"),
    Function("ARRAY_EXCEPT", "array array", _first_of("the arrays"), "array_except({0}, {1})", check=_same_arrays),
    Function(
        "ARRAY_INTERSECT", "array array", _first_of("the arrays"), "array_intersect({0}, {1})", check=_same_arrays
    ),
    Function("ARRAY_UNION", "array array", _first_of("the arrays"), "array_union({0}, {1})", check=_same_arrays),
    Function("ARRAY_JOIN", "array STRING STRING?", T.STRING, _null_if_any("array_join({all})")),
    Function("ARRAY_MAX", A, _element_type, "array_max({0})", "yes", _comparable_elements),
    Function("ARRAY_MIN", A, _element_type, "array_min({0})", "yes", _comparable_elements),
    Function("ARRAY_POSITION", "array null", T.INT, "CAST(array_position({0}, {1}) AS INT)", check=_element_arg),
    Function("ARRAY_REMOVE", "array null", same(), "filter({0}, x -> NOT (x <=> {1}))", "first", _element_arg),
    Function("ARRAY_REVERSE", A, same(), "reverse({0})"),
    Function("ARRAY_SLICE", "array INT INT?", same(), _slice),
    Function("ARRAY_SORT", "array BOOLEAN? BOOLEAN?", same(), _sort, check=_sortable_elements),
    Function("MAP_KEYS", "map", lambda a, _: T.ARRAY(a[0].type.key), "map_keys({0})"),
    Function("MAP_VALUES", "map", lambda a, _: T.ARRAY(a[0].type.value), "map_values({0})"),
    Function("MAP_ENTRIES", "map", _entries, "map_entries({0})"),
    Function(
        "MAP_FROM_ARRAYS",
        "array array",
        lambda a, _: T.MAP(a[0].type.element, a[1].type.element),
        "flinkddl.map_last({0}, {1})",
    ),
    Function("MAP_UNION", "map map*", _first_of("the maps"), _map_union, check=_same_arrays),
)
