"""The examples of the error pages of this room: the bad ones give the code, the good ones nothing."""

import re

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.diagnostics.codes import all_codes, page
from flinkddl.dialect import parse_script

# found when views and functions are written out: tests/spark/test_big_texts.py has scripts of that size
WRITTEN_OUT = {"FD118", "FD119", "FD120"}
CODES = [code for code in all_codes() if code.startswith("FD1")]


@pytest.mark.parametrize("code", CODES)
def test_examples_of_a_page(code: str) -> None:
    bad, good = re.findall(r"```sql\n(.*?)\n```", page(code), re.DOTALL)
    assert {d.code for d in parse_script(SourceText("bad", bad)).diagnostics} == {code} - WRITTEN_OUT
    assert parse_script(SourceText("good", good)).diagnostics == ()
