"""The events are Nexmark's and the same each time, and ``check`` takes the queries. Nothing is started."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from tests.bench.nexmark.engines import Took
from tests.bench.nexmark.generator import (
    CHANNELS,
    CHUNK,
    FIRST_ID,
    FIRST_MS,
    HOT_CHANNELS,
    Events,
    _reversed,
    last_auction,
    last_person,
    texts_of,
)
from tests.bench.nexmark.queries import QUERIES, Query, source, statements
from tests.bench.nexmark.report import Row, beside, markdown
from tests.support.java_udf import needs_javac, udf_jar

VARIABLES = {"BOOTSTRAP_SERVERS": "localhost:9092", "RESULT": "result", "SIDE_INPUT": "/tmp/side_input.txt"}
REFUSED = {"q6": "FD450", "q14": "FD402"}  # q14's as no jar is given
COUNT = 2 * CHUNK
KINDS = ("person", "auction", "bid")
FIELDS = {
    "person": ["id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra"],
    "auction": [
        "id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller", "category", "extra",
    ],
    "bid": ["auction", "bidder", "price", "channel", "url", "dateTime", "extra"],
}  # fmt: skip


def lines(events: Events) -> list[str]:
    return [line for part in events.lines() for line in part]


@cache
def made() -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(Events(COUNT))]


@cache
def of(kind: str) -> list[dict[str, Any]]:
    return [event[kind] for event in made() if event[kind]]


def share(kind: str, field: str, values: set[Any]) -> float:
    return sum(event[field] in values for event in of(kind)) / len(of(kind))


def test_fifty_events_are_a_person_three_auctions_and_46_bids() -> None:
    kinds = [event["event_type"] for event in made()]
    assert kinds[48:98] == [0] + [1] * 3 + [2] * 46  # event 2 is the first
    assert Counter(kinds) == {0: COUNT // 50, 1: COUNT // 50 * 3, 2: COUNT // 50 * 46}


def test_an_event_has_the_fields_of_its_kind_alone() -> None:
    for event in made():
        kind = KINDS[event["event_type"]]
        assert list(event) == ["event_type", *KINDS]
        assert [k for k in KINDS if event[k] is not None] == [kind]
        assert list(event[kind]) == FIELDS[kind]


def test_a_seed_has_the_same_events_each_time_and_another_has_others() -> None:
    first = lines(Events(1000, seed=7))
    assert first == lines(Events(1000, seed=7))
    assert len(set(first) & set(lines(Events(1000, seed=8)))) == 0


def test_a_longer_stream_begins_as_a_shorter_one() -> None:
    assert lines(Events(CHUNK)) == lines(Events(CHUNK + 10))[:CHUNK]


@pytest.mark.parametrize(("rate", "number", "text"), [
    (10_000, 1, "2026-02-28 23:59:50"), (10_000, 10, "2026-02-28 23:59:50.001"),
    (10_000, 100_000, "2026-03-01 00:00:00"), (500, 1, "2026-02-28 23:59:50.002"), (500, 50, "2026-02-28 23:59:50.1"),
])  # fmt: skip
def test_times_follow_the_rate(rate: int, number: int, text: str) -> None:
    import numpy as np

    assert texts_of(Events(1, rate=rate).time_ms(np.array([number]))) == [text]


def test_times_never_go_back_and_end_where_the_rate_says() -> None:
    times = [event[KINDS[event["event_type"]]]["dateTime"] for event in made()]
    assert [t.ljust(23, ".") for t in times] == sorted(t.ljust(23, ".") for t in times)
    assert times[-1] == texts_of(Events(1).time_ms(last_number()))[0]
    assert FIRST_MS % 86_400_000 == 86_390_000


def last_number() -> Any:
    import numpy as np

    return np.array([COUNT])


@pytest.mark.parametrize("kind", ["person", "auction"])
def test_ids_count_from_the_first(kind: str) -> None:
    ids = [event["id"] for event in of(kind)]
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    assert ids[0] == FIRST_ID + 1  # those of events 0 and 1 are not made


@pytest.mark.parametrize(("kind", "field", "low", "high"), [
    ("bid", "price", 100, 100_000_000), ("auction", "initialBid", 100, 100_000_000),
    ("auction", "category", 10, 14),
])  # fmt: skip
def test_ranges(kind: str, field: str, low: int, high: int) -> None:
    values = [event[field] for event in of(kind)]
    assert low <= min(values) <= low + (high - low) // 100
    assert high - (high - low) // 100 <= max(values) <= high


def test_an_auctions_reserve_is_above_its_first_bid() -> None:
    assert all(100 <= a["reserve"] - a["initialBid"] <= 100_000_000 for a in of("auction"))


def test_prices_are_even_on_a_logarithms_scale() -> None:
    digits = Counter(len(str(event["price"])) for event in of("bid"))
    assert all(0.16 < digits[n] / len(of("bid")) < 0.18 for n in range(3, 9))


@pytest.mark.parametrize(("kind", "field", "first", "expected"), [
    ("bid", "auction", FIRST_ID, 1 / 2), ("bid", "bidder", 2 * FIRST_ID + 1, 3 / 4),
    ("auction", "seller", FIRST_ID, 3 / 4),
])  # fmt: skip
def test_the_hot_ones_of_each_hundred(kind: str, field: str, first: int, expected: float) -> None:
    hot = set(range(first, first + COUNT, 100))
    assert expected < share(kind, field, hot) < expected + 0.02  # others meet them by chance


def test_references_are_to_what_is_new_or_soon_there() -> None:
    import numpy as np

    ids = np.arange(COUNT) + 2
    auctions, persons = last_auction(ids).tolist(), last_person(ids).tolist()
    for event, auction, person in zip(made(), auctions, persons, strict=True):
        if bid := event["bid"]:
            assert auction - 200 <= bid["auction"] - FIRST_ID <= auction + 10
            assert person - 1000 <= bid["bidder"] - 2 * FIRST_ID <= person + 10


def test_channels_and_their_urls() -> None:
    assert 0.49 < share("bid", "channel", set(HOT_CHANNELS)) < 0.51
    urls = {bid["channel"]: bid["url"] for bid in of("bid")}
    assert {bid["url"] for bid in of("bid")} == set(urls.values())
    others = {c: u for c, u in urls.items() if c not in HOT_CHANNELS}
    assert len(others) > CHANNELS * 0.95
    with_id = [c for c, u in others.items() if "&channel_id=" in u]
    assert 0.88 < len(with_id) / len(others) < 0.92
    assert all(others[c].endswith(f"&channel_id={_reversed(int(c.removeprefix('channel-')))}") for c in with_id)
    assert not any("channel_id" in urls[c] for c in HOT_CHANNELS)


def test_an_auction_ends_within_the_time_of_two_hundred_auctions() -> None:
    from datetime import datetime

    lasts = [
        (datetime.fromisoformat(a["expires"]) - datetime.fromisoformat(a["dateTime"])).total_seconds()
        for a in of("auction")
    ]
    assert 0.001 <= min(lasts) < 0.01
    assert 0.32 < max(lasts) <= 0.335


def test_an_event_has_333_bytes_on_average() -> None:
    assert 331 < sum(len(line) for line in lines(Events(CHUNK))) / CHUNK < 336


@pytest.mark.parametrize(("number", "reversed_"), [(0, 0), (1, -2_147_483_648), (2, 1_073_741_824), (3, 1_073_741_824)])
def test_bits_reversed_as_java_does(number: int, reversed_: int) -> None:
    assert _reversed(number) == reversed_


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_check_takes_a_query_or_says_why_not(query: Query) -> None:
    assert query.refusal(VARIABLES) == REFUSED.get(query.name, "")


@needs_javac
def test_q14_is_taken_with_its_jar() -> None:
    assert QUERIES["q14"].refusal(VARIABLES, [str(udf_jar("nexmark"))]) == ""


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_flink_is_given_the_statements_of_the_script(query: Query) -> None:
    found = statements(query.script, VARIABLES)
    assert [s.split()[0] for s in found][-2:] == ["CREATE", "INSERT"]
    assert any(s.split()[:3] == ["CREATE", "TABLE", f"nexmark_{query.name}"] for s in found)
    assert not any("${" in s or s.endswith(";") for s in found)
    assert statements(source(), VARIABLES)[0] == "SET 'execution.runtime-mode' = 'streaming'"


def test_every_query_has_a_script_and_no_other_is_there() -> None:
    assert list(QUERIES) == [f"q{n}" for n in range(24)]


def test_the_table_has_medians_ratios_and_their_mean() -> None:
    rows = [
        Row("q0", {"ours": [Took(9, 9), Took(2, 3), Took(1, 4), Took(4, 5)], "flink-heap": [Took(5, 5), Took(4, 2)]},
            rows=1200, said="equal"),
        Row("q1", {"ours": [Took(9, 9), Took(2, 3)], "flink-heap": [Took(5, 5), Took(1, 2)]}),
        Row("q6", said="refused: FD450"),
    ]  # fmt: skip
    assert markdown(rows).splitlines()[2:] == [
        "| q0 | 1,200 | 2.0 | 4.0 | 2.00 |  |  | 4.0, 2.0, - | 9.0, 5.0 | equal |",
        "| q1 |  | 2.0 | 1.0 | 0.50 |  |  | 3.0, 2.0, - | 9.0, 5.0 |  |",
        "| q6 |  |  |  |  |  |  | -, -, - | -, - | refused: FD450 |",
        "| geometric mean |  |  |  | 1.00 |  |  |  |  |  |",
    ]


def test_forms_of_state_beside_each_other() -> None:
    runs = {"ours-aggregate": [Took(9, 9), Took(3, 6)], "ours-keyed": [Took(9, 9), Took(2, 4)]}
    assert beside([Row("q4", runs, 1200, said="equal"), Row("q6", said="refused: FD450")]).splitlines() == [
        "| query | rows | s ours-aggregate, ours-keyed | CPU s | CPU of the first over the others' | result |",
        "| --- | --- | --- | --- | --- | --- |",
        "| q4 | 1,200 | 3.0, 2.0 | 6.0, 4.0 | 1.50 | equal |",
        "| q6 | 0 | -, - | -, - |  | refused: FD450 |",
    ]
