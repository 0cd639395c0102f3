"""What Spark's tasks do: hashes put and deleted in the order of the rows, a transaction of Redis for each thousand."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import redis

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROWS = 1000


def put(options: Mapping[str, str], rows: Iterator[Any]) -> None:
    """Put each row's ``fields`` in the place of what its ``key`` had, or delete that. Twice is the same as once."""
    with redis.Redis(
        host=options["host"],
        port=int(options["port"]),
        db=int(options["database"]),
        username=options.get("username"),
        password=options.get("password"),
        protocol=2,  # every server speaks it
    ) as client:
        while some := list(islice(rows, _ROWS)):
            with client.pipeline(transaction=True) as pipe:
                for row in some:
                    pipe.delete(row.key)
                    if not row.deleted:
                        pipe.hset(row.key, mapping=row.fields)
                pipe.execute()
