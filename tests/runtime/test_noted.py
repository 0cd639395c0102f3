"""What a run writes down of its operators with state: names of a key's columns, for people."""

from __future__ import annotations

import pytest

from flinkddl.runtime.storage import noted
from flinkddl.sqltypes import quote


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
