"""Secrets in listings, messages and plans: the whole value under a secret key, and the password in a URL."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics.secrets import MASK, mask, mask_script, masked

CASES = [
    ("properties.sasl.jaas.config", "x required username='u';", MASK),
    ("avro-confluent.basic-auth.user-info", "u:p", MASK),
    ("url", "jdbc:postgresql://db:5432/shop", "jdbc:postgresql://db:5432/shop"),
    ("url", "jdbc:postgresql://db/shop?user=u&password=p&ssl=true", f"jdbc:postgresql://db/shop?user=u&password={MASK}&ssl=true"),
    ("url", "jdbc:sqlserver://db;user=u;Password=p;encrypt=true", f"jdbc:sqlserver://db;user=u;Password={MASK};encrypt=true"),
    ("url", "jdbc:mysql://u:p@db:3306/shop", f"jdbc:mysql://u:{MASK}@db:3306/shop"),
    ("url", "jdbc:mysql://u:p@q@db:3306/shop", f"jdbc:mysql://u:{MASK}@db:3306/shop"),
    ("url", "jdbc:mysql://u@db:3306/shop", "jdbc:mysql://u@db:3306/shop"),
    ("url", "jdbc:oracle:thin:u/p@//db:1521/shop", f"jdbc:oracle:thin:u/{MASK}@//db:1521/shop"),
    ("url", "jdbc:derby:memory:shop;password=p", f"jdbc:derby:memory:shop;password={MASK}"),
    ("avro-confluent.url", "https://u:p@registry:8081", f"https://u:{MASK}@registry:8081"),
    ("topic", "password=1", "password=1"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "shown"), CASES, ids=range(len(CASES)))
def test_a_secret_is_not_shown(key: str, value: str, shown: str) -> None:
    assert mask(key, value) == shown


def test_a_property_in_two_options_is_masked_by_its_name() -> None:
    options = {
        "connector.properties.0.value": "p", "connector.properties.0.key": "sasl.jaas.config",
        "connector.properties.1.key": "group.id", "connector.properties.1.value": "g",
    }  # fmt: skip
    shown = masked(options)
    assert shown["connector.properties.0.value"] == MASK
    assert shown["connector.properties.1.value"] == "g"
    script = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    assert mask_script(script) == script.replace("'p'", f"'{MASK}'")
