"""Nexmark's events as JSON lines: deterministic by a seed, a million in some seconds.

The numbers are those of github.com/nexmark/nexmark's generator (its defaults): in every 50 events a person, three
auctions and 46 bids; half of the bids go to a hot auction, three quarters come from a hot bidder, three quarters of the
auctions are a hot seller's. The draws are this module's own, so that two runs with one seed have the same events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

PERSONS, AUCTIONS, BIDS = 1, 3, 46
TOTAL = PERSONS + AUCTIONS + BIDS
FIRST_ID = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT_AUCTIONS, HOT_BIDDERS, HOT_SELLERS = 2, 4, 4
"""One in so many is not hot."""
HOT_EVERY = 100
"""One in so many auctions or persons is the hot one, for the time of the next so many."""
IN_FLIGHT, ACTIVE_PEOPLE, LEAD = 100, 1000, 10
BYTES = {"person": 200, "auction": 500, "bid": 100}
"""What ``extra`` fills an event up to, on average."""
CHANNELS = 10_000
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
)  # fmt: skip
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CHUNK = 50_000
FIRST_MS = 1_772_323_190_000
"""2026-02-28 23:59:50 UTC: the stream crosses a day's, a month's and ten windows' end."""
_POOL = 1 << 20


class Words:
    """The texts that events are made of, made once from the seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        low = rng.integers(0, 26, _POOL) * np.repeat(rng.choice((-1, 1), _POOL // 6 + 1), 6)[:_POOL]
        self.extra = (low + ord("a")).astype(np.uint8).tobytes().decode("ascii")
        letters = rng.integers(ord("a"), ord("z") + 1, _POOL)
        spaced = np.where(rng.integers(0, 13, _POOL) == 0, ord(" "), letters)
        self.spaced = spaced.astype(np.uint8).tobytes().decode("ascii")
        self.underlined = self.spaced.replace(" ", "_")
        pages = [self._url(rng) for _ in range(CHANNELS)]
        with_id = (rng.integers(0, 10, CHANNELS) > 0).tolist()
        self.urls = [url + f"&channel_id={_reversed(i)}" * with_id[i] for i, url in enumerate(pages)]
        self.urls += [self._url(rng) for _ in HOT_CHANNELS]
        self.channels = [*(f"channel-{i}" for i in range(CHANNELS)), *HOT_CHANNELS]

    def _url(self, rng: np.random.Generator) -> str:
        starts, lengths = rng.integers(0, _POOL - 5, 3).tolist(), rng.integers(3, 5, 3).tolist()
        folders = "/".join(self.underlined[s : s + n] for s, n in zip(starts, lengths, strict=True))
        return f"https://www.nexmark.com/{folders}/item.htm?query=1"

    def texts(self, rng: np.random.Generator, count: int, most: int) -> list[str]:
        """Return ``count`` texts of 3 to ``most`` - 1 letters and spaces, none at their ends."""
        starts, lengths = rng.integers(0, _POOL - most, count), rng.integers(3, most, count)
        pool = self.spaced
        return [pool[s : s + n].strip() for s, n in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def extras(self, rng: np.random.Generator, used: Longs, kind: str) -> list[str]:
        """Return what fills events of ``used`` bytes up to their kind's size, within a fifth, as JSON text."""
        room = np.maximum(BYTES[kind] - used, 0)
        spread = np.rint(room * 0.2).astype(np.int64)
        lengths = room - spread + _below(rng, np.maximum(2 * spread, 1))
        starts, pool = rng.integers(0, _POOL - 2 * BYTES[kind], len(used)), self.extra
        cut = zip(starts.tolist(), lengths.tolist(), strict=True)
        return [pool[s : s + n].replace("\\", "\\\\") for s, n in cut]


@dataclass(frozen=True)
class Events:
    """A stream of ``count`` events, ``rate`` of them a second of event time, from ``first_ms`` (ms since 1970) on."""

    count: int
    seed: int = 1
    rate: int = 10_000
    first_ms: int = FIRST_MS

    @cached_property
    def words(self) -> Words:
        return Words(self.seed)

    def lines(self) -> Iterator[list[str]]:
        """Yield the events in their order as JSON text, in lists of at most ``CHUNK``."""
        for start in range(0, self.count, CHUNK):
            yield self._chunk(start, min(CHUNK, self.count - start))

    def _chunk(self, start: int, count: int) -> list[str]:
        rng = np.random.default_rng([self.seed, 1, start])
        ids = np.arange(start, start + count, dtype=np.int64) + 2  # nexmark numbers from 1, and its numbers start at 1
        place = ids % TOTAL
        lines = np.empty(count, dtype=object)
        for chosen, make in (
            (place < PERSONS, self._persons),
            ((place >= PERSONS) & (place < PERSONS + AUCTIONS), self._auctions),
            (place >= PERSONS + AUCTIONS, self._bids),
        ):
            lines[chosen] = make(rng, ids[chosen])
        found: list[str] = lines.tolist()
        return found

    def time_ms(self, number: Longs) -> Longs:
        """Return when an event is: ``number`` counts from 1."""
        found: Longs = self.first_ms + (number * (1_000_000 / self.rate)).astype(np.int64) // 1000
        return found

    def _persons(self, rng: np.random.Generator, ids: Longs) -> list[str]:
        n = len(ids)
        names = [f"{FIRST_NAMES[a]} {LAST_NAMES[b]}" for a, b in zip(*_drawn(rng, n, 11, 9), strict=True)]
        mails = [f"{a}@{b}.com" for a, b in zip(self.words.texts(rng, n, 7), self.words.texts(rng, n, 5), strict=True)]
        cards = ["{:04d} {:04d} {:04d} {:04d}".format(*c) for c in zip(*_drawn(rng, n, *[10_000] * 4), strict=True)]
        cities, states = ([table[i] for i in _drawn(rng, n, len(table))[0]] for table in (CITIES, STATES))
        texts = (names, mails, cards, cities, states)
        used = np.array([8 + sum(map(len, row)) for row in zip(*texts, strict=True)], dtype=np.int64)
        return [
            f'{{"event_type":0,"person":{{"id":{i},"name":"{name}","emailAddress":"{mail}","creditCard":"{card}",'
            f'"city":"{city}","state":"{state}","dateTime":"{at}","extra":"{extra}"}},"auction":null,"bid":null}}'
            for i, name, mail, card, city, state, at, extra in zip(
                (last_person(ids) + FIRST_ID).tolist(), *texts, self._times(ids),
                self.words.extras(rng, used, "person"), strict=True,
            )
        ]  # fmt: skip

    def _auctions(self, rng: np.random.Generator, ids: Longs) -> list[str]:
        n, at = len(ids), self.time_ms(ids - 1)
        hot = last_person(ids) // HOT_EVERY * HOT_EVERY
        sellers = np.where(rng.integers(0, HOT_SELLERS, n) > 0, hot, _person(rng, ids)) + FIRST_ID
        categories = FIRST_CATEGORY + rng.integers(0, CATEGORIES, n)
        first, more = _prices(rng, n), _prices(rng, n)
        horizon = self.time_ms(ids - 1 + IN_FLIGHT * TOTAL // AUCTIONS) - at
        expires = at + 1 + _below(rng, np.maximum(2 * horizon, 1))
        items, notes = self.words.texts(rng, n, 20), self.words.texts(rng, n, 100)
        used = np.array([48 + len(a) + len(b) for a, b in zip(items, notes, strict=True)], dtype=np.int64)
        return [
            f'{{"event_type":1,"person":null,"auction":{{"id":{i},"itemName":"{item}","description":"{note}",'
            f'"initialBid":{bid},"reserve":{reserve},"dateTime":"{time}","expires":"{end}","seller":{seller},'
            f'"category":{category},"extra":"{extra}"}},"bid":null}}'
            for i, item, note, bid, reserve, time, end, seller, category, extra in zip(
                (last_auction(ids) + FIRST_ID).tolist(), items, notes, first.tolist(), (first + more).tolist(),
                self._times(ids), texts_of(expires), sellers.tolist(), categories.tolist(),
                self.words.extras(rng, used, "auction"), strict=True,
            )
        ]  # fmt: skip

    def _bids(self, rng: np.random.Generator, ids: Longs) -> list[str]:
        n = len(ids)
        hot = last_auction(ids) // HOT_EVERY * HOT_EVERY
        auctions = np.where(rng.integers(0, HOT_AUCTIONS, n) > 0, hot, _auction(rng, ids)) + FIRST_ID
        hot = last_person(ids) // HOT_EVERY * HOT_EVERY + 1  # so that hot bidders and hot sellers are others
        bidders = np.where(rng.integers(0, HOT_BIDDERS, n) > 0, hot, _person(rng, ids))
        bidders += 2 * FIRST_ID  # nexmark adds it twice
        named = CHANNELS + rng.integers(0, len(HOT_CHANNELS), n)
        channels = np.where(rng.integers(0, 2, n) > 0, named, rng.integers(0, CHANNELS, n)).tolist()
        names, urls = self.words.channels, self.words.urls
        used = np.full(n, 32, dtype=np.int64)
        return [
            f'{{"event_type":2,"person":null,"auction":null,"bid":{{"auction":{auction},"bidder":{bidder},'
            f'"price":{price},"channel":"{names[c]}","url":"{urls[c]}","dateTime":"{at}","extra":"{extra}"}}}}'
            for auction, bidder, price, c, at, extra in zip(
                auctions.tolist(), bidders.tolist(), _prices(rng, n).tolist(), channels, self._times(ids),
                self.words.extras(rng, used, "bid"), strict=True,
            )
        ]  # fmt: skip

    def _times(self, ids: Longs) -> list[str]:
        return texts_of(self.time_ms(ids - 1))


def last_auction(ids: Longs) -> Longs:
    """Return the number, from 0, of the newest auction when the event of that id comes; its own if it is one."""
    epoch, place = ids // TOTAL, ids % TOTAL
    own = np.where(place < PERSONS, -1, np.minimum(place - PERSONS, AUCTIONS - 1))
    return epoch * AUCTIONS + own


def last_person(ids: Longs) -> Longs:
    """Return the number, from 0, of the newest person when the event of that id comes; its own if it is one."""
    return ids // TOTAL * PERSONS + np.minimum(ids % TOTAL, PERSONS - 1)


def texts_of(times: Longs) -> list[str]:
    """Return times (ms since 1970) as SQL writes them: UTC, zeros at the end of the fraction left out."""
    each, where = np.unique(times, return_inverse=True)
    words = np.datetime_as_string(each.astype("datetime64[ms]"), unit="ms").tolist()
    texts = [word.replace("T", " ").rstrip("0").rstrip(".") for word in words]
    return [texts[i] for i in where.tolist()]


def _auction(rng: np.random.Generator, ids: Longs) -> Longs:
    last = last_auction(ids)
    least = np.maximum(last - IN_FLIGHT, 0)
    return least + _below(rng, last - least + 1 + LEAD)


def _person(rng: np.random.Generator, ids: Longs) -> Longs:
    people = last_person(ids) + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    return people - active + _below(rng, active + LEAD)


def _prices(rng: np.random.Generator, count: int) -> Longs:
    """Return prices from 100 to 100,000,000, even on a logarithm's scale."""
    return np.rint(10.0 ** (rng.random(count) * 6) * 100).astype(np.int64)


def _below(rng: np.random.Generator, bounds: Longs) -> Longs:
    return (rng.random(len(bounds)) * bounds).astype(np.int64)


def _drawn(rng: np.random.Generator, count: int, *bounds: int) -> list[Any]:
    return [rng.integers(0, bound, count).tolist() for bound in bounds]


def _reversed(number: int) -> int:
    """Return Java's ``Math.abs(Integer.reverse(number))``, whose least number is its own absolute value."""
    bits = int(f"{number:032b}"[::-1], 2)
    return bits if bits < 1 << 31 else (1 << 32) - bits if bits > 1 << 31 else -bits
