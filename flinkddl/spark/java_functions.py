"""Java functions of Flink in Spark SQL: a planned call (``functions/java/spec.py``) as the name of a catalog function.

``flinkddl.`{"class":..}`(named_struct(..))``: the name is the spec, so that Spark's side knows class, types and result
where it binds the call (``jvm/../udf``). A path of this machine means nothing there: jars go by ``shipped`` names, by
which the runtime sends them (``runtime/session/java_jars.py``).

- scalar and async: the value; table: an array of structs, one a collected row (``EXPR$0`` where it is a bare value);
- aggregate: Spark's aggregate function over append rows; table_aggregate: likewise, an array of structs;
- over rows that may be taken back, and by key in a stream: a kind of ``retract_aggregate`` (``retract_kind``).
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.core import string
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.functions.java.spec import JavaCall
    from flinkddl.plan.rex import AggCall

NONE: Mapping[str, str] = {}


def java_call(
    spec: str, arguments: Sequence[str], parameters: Mapping[str, str] = NONE, *, distinct: bool = False
) -> str:
    """Return the Spark SQL of a call: ``arguments`` are texts of the types that the spec names.

    ``parameters`` are Flink's ``pipeline.global-job-parameters``, for ``FunctionContext.getJobParameter``;
    ``distinct``: Spark gives an aggregate each list of arguments once.
    """
    given = f"{'DISTINCT ' * distinct}{argument_struct(arguments)}"
    return f"flinkddl.{quote(shipped_spec(spec, parameters))}({given})"


def argument_struct(arguments: Sequence[str]) -> str:
    """Return the one argument of a call, a struct of all; "" where there is none."""
    items = ", ".join(f"{string(f'c{i}')}, {a}" for i, a in enumerate(arguments))
    return f"named_struct({items})" if items else ""


def retract_kind(spec: str, parameters: Mapping[str, str] = NONE) -> str:
    """Return an aggregate as a kind of ``retract_aggregate``, whose argument is the struct of its arguments.

    A NULL struct is a row that a FILTER leaves out. In hexadecimal: it becomes a part of field names.
    """
    return "java_" + shipped_spec(spec, parameters).encode().hex()


def shipped_spec(spec: str, parameters: Mapping[str, str] = NONE) -> str:
    """Return a spec as Spark's side reads it: jars by the names under which they are sent."""
    data = json.loads(spec)
    jars = data.pop("jars")
    data |= {"files": [shipped_name(jar) for jar in jars]}
    data |= {"parameters": dict(parameters)} if parameters else {}
    return json.dumps(data, separators=(",", ":"))


def retracting(call: AggCall) -> JavaCall:
    """Return the call of a user's aggregate function that is to take rows back. Raises FD522 where it cannot."""
    given: JavaCall = call.option("call")
    if not call.option("retracts"):
        message = (
            f"'{call.option('name')}' must take rows back, and its class '{given.class_name}' has no method 'retract'"
        )
        help = f"write a public method retract({', '.join(('accumulator', *given.bridges))})"
        raise FlinkDdlError.of("FD522", message, call.span, help)
    return replace(given, retract=True)


def steady(call: AggCall) -> None:
    """Raise FD642 where a stream's OVER has to compute a result again, and another one may come out."""
    if not call.option("call").deterministic:
        message = (
            f"the Java aggregate function '{call.option('name')}' is not deterministic, and OVER computes it again"
        )
        help = "use it with GROUP BY; or, if equal rows give equal results, leave its isDeterministic out"
        raise FlinkDdlError.of("FD642", message, call.span, help)


def without_files(text: str) -> str:
    """Return Spark SQL without the names of the jars that it calls, and job parameters.

    State fits another build of the same classes, and other parameters.
    """
    plain = re.sub(r"java_((?:[0-9a-f]{2})+)", lambda m: bytes.fromhex(m[1]).decode(errors="replace"), text)
    plain = re.sub(r',"parameters":\{(?:"(?:[^"\\]|\\.)*"[:,]?)*\}', "", plain)
    return re.sub(r'"files":\[[^\]]*\],?', "", plain)


@cache
def shipped_name(jar: str) -> str:
    """Return the name under which a jar is sent: two versions of one jar have two. Raises OSError."""
    from hashlib import sha256  # here: it is slow to import, and ``check`` seldom comes by

    path = Path(jar)
    return f"{sha256(path.read_bytes()).hexdigest()[:16]}-{path.name}"
