"""Every case of the connector reference has a test; the suite's summary prints how many of each letter."""

import pytest

from tests.support.references import covered, wanted


@pytest.mark.parametrize("letter", wanted())
def test_every_case_of_the_reference_stands_in_a_test(letter):
    missing = [name for name in wanted()[letter] if name not in covered()]
    assert missing == []
