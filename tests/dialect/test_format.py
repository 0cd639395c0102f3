"""The canonical layout: nothing but space and the case of keywords changes, and a second run changes nothing."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.dialect.format import format_script
from flinkddl.dialect.tokens import lex
from tests.dialect.helpers import CASES, GOLDENS, json_lines

SCRIPT = """-- banner; with semicolon
set 'a'='b'; -- trailing
create table t ( id bigint /* key */, value row<a int, b array<string>>, -- a comment
  primary key(id) not enforced) with ('connector'='kafka', 'topic' = '${topic}');
insert into s select a.id, count(*) c from t a left join (select * from u where x>1) b on a.id=b.id group by a.id
"""
LAID_OUT = """-- banner; with semicolon
SET 'a' = 'b'; -- trailing

CREATE TABLE t (
  id BIGINT /* key */,
  value ROW<a INT, b ARRAY<STRING>>, -- a comment
  PRIMARY KEY(id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = '${topic}'
);

INSERT INTO s
SELECT a.id, COUNT(*) c
FROM t a
LEFT JOIN (
  SELECT *
  FROM u
  WHERE x > 1
) b ON a.id = b.id
GROUP BY a.id
"""


def words(text: str) -> list[str]:
    return [token.key or token.text for token in lex(text).tokens]


def test_layout() -> None:
    assert format_script(SCRIPT) == LAID_OUT


def test_nothing_is_lost() -> None:
    texts = (CASES / "identity.sql").read_text(encoding="utf-8").splitlines()[1:]
    texts += [c["query"] for c in json_lines(GOLDENS / "queries/select.jsonl") if c.get("query") and not c.get("error")]
    for text in texts:
        once = format_script(text)
        assert words(once) == words(text)
        assert format_script(once) == once


# as written, as laid out with ``fix``
FIXES = [
    ("select count(*) as count, t.date from t", "SELECT COUNT(*) AS `count`, t.`date`\nFROM t\n"),
    ("select /*+ broadcast(user) */ 1 from user", "SELECT /*+ broadcast(`user`) */ 1\nFROM `user`\n"),
    ("set 'a' = 2; set b = c; set d=e  f", "SET 'a' = '2';\n\nSET b = c;\n\nSET d = 'e  f'\n"),
    ("select cast(a as real /* why */) -- value\nfrom t", "SELECT CAST(a AS FLOAT /* why */) -- value\nFROM t\n"),
    ("select ${name}, value from t", "SELECT ${name}, `value`\nFROM t\n"),
    ("select /*+ foo */ `value` from t", "SELECT /*+ foo */ `value`\nFROM t\n"),
]


@pytest.mark.parametrize(("text", "fixed"), FIXES)
def test_fix(text: str, fixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("name", "user")
    assert format_script(text, fix=True) == fixed
    assert format_script(fixed, fix=True) == fixed


def test_a_script_with_mistakes_is_left_alone() -> None:
    with pytest.raises(FlinkDdlError):
        format_script("SELEC 1")
