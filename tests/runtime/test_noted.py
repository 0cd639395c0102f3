"""What a run writes down of its operators with state: names of a key's columns, for people."""

from __future__ import annotations

import re

import pytest

from flinkddl.runtime.storage import noted
from flinkddl.sqltypes import QUOTED, quote, unquote


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ([quote("shop"), quote("a`b c")], ["shop", "a`b c"]),
        ([quote("shop"), "lower(`shop`)"], ["shop", "__key1"]),
        ([quote("__w"), "`a`.`b`", "true"], ["__key0", "__key1", "__key2"]),
        ([quote("shop"), quote("shop")], ["__key0", "__key1"]),  # which is which is not told by the name
        ([], []),
    ],
)
def test_keys_have_the_names_of_their_columns(texts: list[str], names: list[str]) -> None:
    assert noted._names([(f"__key{i}", text) for i, text in enumerate(texts)]) == names


@pytest.mark.parametrize("name", ["shop", "a`b", "`", "a.b", ""])
def test_a_name_is_read_as_it_is_quoted(name: str) -> None:
    found = re.fullmatch(QUOTED, quote(name))
    assert found is not None
    assert unquote(found[1]) == name
