"""The documents' SQL blocks (tests/cases/seeds) as they stand, and what was meant where a page has a slip."""

from __future__ import annotations

from pathlib import Path

SEEDS = Path(__file__).parents[1] / "cases" / "seeds"
NAMES = sorted(p.stem for p in SEEDS.glob("*.sql"))

# What a page writes -> (what it means, what the message or its help says).
KEY = ("PRIMARYKEY", "PRIMARY KEY", "did you mean 'PRIMARY KEY'?")
NOT = ("NOTENFORCED", "NOT ENFORCED", "did you mean 'NOT ENFORCED'?")
SLIPS: dict[str, list[tuple[str, str, str]]] = {
    "baidu_1_syntax": [KEY],
    "baidu_2_source_table": [
        ("WATERMARKFOR", "WATERMARK FOR", "did you mean 'WATERMARK FOR'?"),
        KEY,
        NOT,
        ("'properties. bootstrap.servers'", "'properties.bootstrap.servers'", "properties.bootstrap.servers"),
    ],
    "baidu_3_result_table": [
        KEY,
        NOT,
        ("page views_per_region", "pageviews_per_region", "expected a query"),
        ("page views", "pageviews", "'page' not found"),
        ("DISTINCTuser_id", "DISTINCT user_id", "'DISTINCTuser_id' not found"),
    ],
    "streampark_1_example": [("WATERMARK FOR viewtime", "WATERMARK FOR view_time", "did you mean 'view_time'?")],
}


def seed(name: str) -> str:
    return (SEEDS / f"{name}.sql").read_text(encoding="utf-8")


def meant(name: str) -> str:
    """Return a block without its slips."""
    text = seed(name)
    for wrong, right, _ in SLIPS.get(name, ()):
        text = text.replace(wrong, right)
    return text
