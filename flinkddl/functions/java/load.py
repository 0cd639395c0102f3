"""A function class of a jar: its kind, its signatures, what it says of itself. Source: UserDefinedFunctionHelper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.functions.java import classfile as C
from flinkddl.functions.java.classfile import BadClassFile
from flinkddl.functions.java.classpath import FUNCTIONS, BadJar, ClassPath
from flinkddl.functions.java.hints import NoType
from flinkddl.functions.java.jtypes import raw
from flinkddl.functions.java.mapping import Overload, Rule, overloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.functions.java.classfile import ClassFile, Method
    from flinkddl.functions.java.spec import Kind
    from flinkddl.functions.java.typed import Typed

RULES = {
    rule.base: rule
    for rule in (
        Rule("scalar", f"{FUNCTIONS}ScalarFunction", "eval"),
        Rule("async", f"{FUNCTIONS}AsyncScalarFunction", "eval", offset=1),
        Rule("table", f"{FUNCTIONS}TableFunction", "eval", generic=0),
        Rule("aggregate", f"{FUNCTIONS}AggregateFunction", "accumulate", 1, 0, True),
        Rule("table_aggregate", f"{FUNCTIONS}TableAggregateFunction", "accumulate", 1, 0, True),
    )
}
"""The kinds of functions that run here, by Flink's class that they extend."""

_ELSEWHERE = {
    f"{FUNCTIONS}{name}": what
    for name, what in (
        ("AsyncTableFunction", "an asynchronous table function"),
        ("ProcessTableFunction", "a process table function"),
        ("LookupFunction", "a lookup function"),
        ("AsyncLookupFunction", "an asynchronous lookup function"),
        ("PredictFunction", "a function of a model"),
        ("AsyncPredictFunction", "a function of a model"),
    )
}


class Refused(Exception):
    """A Java function that cannot be had; ``code`` is the error's, the caller adds the place."""

    def __init__(self, code: str, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.code, self.help = code, help


@dataclass(frozen=True)
class JavaFunction:
    """A function class. ``overloads`` is empty where the user says what it returns (``returns``).

    ``retracts``: an aggregate that takes rows back; ``deterministic``: what ``isDeterministic`` says where that can be
    read, false where it can not.
    """

    class_name: str
    path: ClassPath
    rule: Rule
    overloads: tuple[Overload, ...]
    returns: Typed | None = None
    retracts: bool = False
    deterministic: bool = True

    @property
    def kind(self) -> Kind:
        """Its kind."""
        return self.rule.kind


def load(class_name: str, path: ClassPath, returns: Typed | None = None) -> JavaFunction:
    """Read a function class; ``returns`` is what the user says it returns, where the class file does not tell.

    Raises Refused: FD402 (no jars), FD519 (a jar), FD520 (no such class), FD521 (no function), FD522 (types), FD523
    (its own inference).
    """
    try:
        return _load(class_name, path.resolved, returns)
    except BadJar as error:
        raise Refused("FD519", str(error), "give the path of a jar that this machine can read") from None
    except BadClassFile as error:
        raise Refused("FD519", str(error), "build the jar anew") from None


def _load(class_name: str, path: ClassPath, returns: Typed | None) -> JavaFunction:
    chain = path.chain(class_name)
    if not chain:
        raise _missing(class_name, path)
    rule = _rule(chain, class_name, path)
    _check_class(chain[0], rule)
    _check_methods(chain, rule)
    deterministic = _says(chain, "isDeterministic", "()Z")
    retracts = any(m.name == "retract" and m.access & C.PUBLIC for c in chain for m in c.methods)
    own = next(
        (c.name for c in chain for m in c.methods if m.name == "getTypeInference" and not m.access & C.ABSTRACT), None
    )
    found: tuple[Overload, ...] = ()
    if returns is None:
        if own is not None:
            raise Refused(
                "FD523",
                f"'{own}' works out its types in getTypeInference, which is not run to check a script",
                f"say what it returns, as in '--udf \"name={class_name} RETURNS STRING\"'",
            )
        found = _overloads(class_name, path, chain, rule)
    return JavaFunction(class_name, path, rule, found, returns, retracts, deterministic)


def _overloads(class_name: str, path: ClassPath, chain: Sequence[ClassFile], rule: Rule) -> tuple[Overload, ...]:
    try:
        return overloads(path, chain, rule)
    except NoType as error:
        message = f"no types can be derived for the function class '{class_name}': {error}"
        help = "annotate it with @DataTypeHint or @FunctionHint, or say what it returns:"
        help += f" '--udf \"name={class_name} RETURNS ..\"'"
        raise Refused("FD522", message, help) from None


_NAME_ITS_JAR = "name the jar that has it: ADD JAR '..', CREATE FUNCTION .. USING JAR '..', or --jars FILE.jar"


def _missing(class_name: str, path: ClassPath) -> Refused:
    if not path.jars:  # a code of its own: nothing is wrong with any jar, the function is as one of Flink alone
        return Refused("FD402", f"no jar is named for its class '{class_name}'", _NAME_ITS_JAR)
    message = f"its class '{class_name}' is in no jar of {', '.join(path.jars)}"
    return Refused("FD520", message, _nested(class_name, path))


def _nested(class_name: str, path: ClassPath) -> str:
    """Say that a nested class is written with ``$``, where that is it."""
    outer, _, inner = class_name.rpartition(".")
    if outer and path.find(f"{outer}${inner}") is not None:
        return f"a nested class is written '{outer}${inner}'"
    return _NAME_ITS_JAR


def _rule(chain: Sequence[ClassFile], class_name: str, path: ClassPath) -> Rule:
    supers = path.supers(class_name)
    for base, rule in RULES.items():
        if base in supers:
            return rule
    last = chain[-1].superclass or ""
    other = next((what for base, what in _ELSEWHERE.items() if base in (*supers, last)), None)
    if other is not None:
        raise Refused(
            "FD521", f"'{class_name}' is {other}, which does not run on Spark", "write it as a table function"
        )
    if not last.startswith("java."):
        help = f"its superclass '{last}' is in no jar: give the jar that has it too"
    else:
        help = (
            "a function extends ScalarFunction, TableFunction, AggregateFunction or TableAggregateFunction of Flink's"
        )
    raise Refused("FD521", f"Function '{class_name}' does not extend from '{FUNCTIONS}UserDefinedFunction'", help)


def _check_class(found: ClassFile, rule: Rule) -> None:
    name = found.name
    constructors = [c for c in found.constructors if c.access & C.PUBLIC and not c.erased.parameters]
    if any(f.name == "MODULE$" for f in found.fields):
        message = f"'{name}' is a Scala object, of which Flink makes no function"
        raise Refused("FD521", message, "write a class")
    if not found.access & C.PUBLIC:
        raise Refused("FD521", f"Function class '{name}' is not public", "make it public")
    if found.access & (C.ABSTRACT | C.INTERFACE):
        message = f"Function class '{name}' is not a proper class. It is either abstract or an interface"
        raise Refused("FD521", message, f"name a class that extends {rule.base.rpartition('.')[2]} and is not abstract")
    if not constructors:
        raise Refused("FD521", f"Function class '{name}' must have a public default constructor", _CONSTRUCTOR)


_CONSTRUCTOR = "give it a public constructor without parameters; a nested class is static"


def _check_methods(chain: Sequence[ClassFile], rule: Rule) -> None:
    name = chain[0].name
    methods = [m for c in chain for m in c.methods if m.name == rule.method]
    help = f"write a public method '{rule.method}' as Flink's {rule.base.rpartition('.')[2]} describes it"
    if not methods:
        raise Refused("FD521", f"Function class '{name}' does not implement a method named '{rule.method}'", help)
    for bit, wanted, said in _METHOD_RULES:
        if bit == C.STATIC and rule.kind in ("scalar", "async"):
            continue
        if any(bool(m.access & bit) is not wanted for m in methods):
            raise Refused("FD521", f"Method '{rule.method}' of function class '{name}' {said}", help)
    if rule.kind == "async" and any(_no_future(m) for m in methods):
        said = "must be void and have a first argument of type java.util.concurrent.CompletableFuture"
        raise Refused("FD521", f"Method '{rule.method}' of function class '{name}' {said}", help)


_METHOD_RULES = (
    (C.PUBLIC, True, "is not public"),
    (C.ABSTRACT, False, "must not be abstract"),
    (C.STATIC, False, "must not be static"),
)


def _no_future(method: Method) -> bool:
    first = method.erased.parameters[:1]
    return raw(method.erased.result) != "void" or not first or raw(first[0]) != "java.util.concurrent.CompletableFuture"


def _says(chain: Sequence[ClassFile], name: str, descriptor: str) -> bool:
    """Return what a method of the class returns: true where it has none, false where its code does more."""
    for declared in chain:
        for m in declared.methods:
            if m.name == name and m.descriptor == descriptor:
                return m.constant is True
    return True
