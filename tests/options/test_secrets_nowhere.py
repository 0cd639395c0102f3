"""A secret under every option that can hold one, and in every URL: nothing that looks at a script shows it."""

from __future__ import annotations

import ast
import hmac
import re
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import SourceText
from flinkddl.diagnostics.secrets import SPARK_REGEX, is_secret, scrub, secrets_in
from flinkddl.options import registry
from flinkddl.script.compile import Start, compile_script

if TYPE_CHECKING:
    from pathlib import Path

# What of Kafka's client settings is of type PASSWORD (kafka-clients 4.1, ConfigDef), and what drivers call theirs.
KAFKA = (
    "sasl.jaas.config", "ssl.key.password", "ssl.keystore.password", "ssl.truststore.password", "ssl.keystore.key",
    "ssl.keystore.certificate.chain", "ssl.truststore.certificates",
    "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.assertion.private.key.passphrase",
)  # fmt: skip
DRIVERS = ("password", "sslpassword", "trustCertificateKeyStorePassword", "accessToken", "oauth.private_key_pwd")
LOOKS_SECRET = re.compile(
    r"pass|secret|token|credential|user-info|auth|jaas|(?<!cache-missing-)(?<!caching-missing-)key$"
)
NOT_SECRET = {"basic-auth.credentials-source", "bearer-auth.credentials-source"}
FORMATS = ("avro-confluent", "debezium-avro-confluent")

planted: list[str] = []


def plant(shape: str = "{}") -> str:
    planted.append(f"Pl4nted-{len(planted):03d}-x")
    return shape.format(planted[-1])


def registry_options(prefix: str) -> dict[str, str]:
    found = {k: plant() for k in registry.format("avro-confluent").options if LOOKS_SECRET.search(k)}
    found = {k: v for k, v in found.items() if k not in NOT_SECRET}
    assert len(found) >= 4
    found["url"] = plant("https://me:{}@registry:8081")
    found["properties.basic.auth.user.info"] = plant("u:{}")
    found["properties.bearer.auth.token"] = plant()
    return {f"{prefix}{k}": v for k, v in found.items()}


def tables() -> dict[str, dict[str, str]]:
    planted.clear()
    broker = {"properties.bootstrap.servers": "b:1"}
    topic = {"connector": "kafka", "topic": "t", "scan.startup.mode": "earliest-offset", **broker}
    upsert = {"connector": "upsert-kafka", "topic": "t", **broker}
    out = {"plain": topic | {"format": "json"} | {f"properties.{k}": plant() for k in KAFKA}}
    out["plain"]["properties.sasl.jaas.config"] = plant('x.Login required username="u" password="{}";')
    out["other"] = {**out["plain"], "properties.ssl.key.password": plant()}
    out["ups"] = upsert | {f"properties.{k}": plant() for k in KAFKA}
    for part in ("key", "value"):
        out["ups"] |= {f"{part}.format": "avro-confluent"} | registry_options(f"{part}.avro-confluent.")
    for name in FORMATS:
        out[name.replace("-", "_")] = topic | {"format": name} | registry_options(f"{name}.")
    url = plant("jdbc:postgresql://me:{}@db:5432/shop?user=me") + plant("&password={}") + plant("&sslpassword={}")
    jdbc = {k: plant() for k in registry.connector("jdbc").options if LOOKS_SECRET.search(k)}
    out["jdbc"] = {"connector": "jdbc", "table-name": "t", "url": url, "username": "u", **jdbc}
    out["jdbc"] |= {f"properties.{k}": plant() for k in DRIVERS if k != "password"}
    out["redis"] = {"connector": "redis", "host": "h", "password": plant()}
    return out


def script(separator: str = "\n  ") -> str:
    parts = []
    for name, options in tables().items():
        listed = f",{separator}".join(f"'{k}' = '{v}'" for k, v in options.items())
        key = ", PRIMARY KEY (id) NOT ENFORCED" if name in ("ups", "jdbc", "redis") else ""
        parts.append(f"CREATE TABLE {name} (id INT NOT NULL, v STRING{key}) WITH ({separator}{listed})")
    parts.append("CREATE TABLE own (id INT NOT NULL, v STRING) WITH ('connector' = 'blackhole')")
    hint = f"/*+ OPTIONS('properties.ssl.key.password' = '{plant()}') */"
    parts.append(f"CREATE VIEW hinted AS SELECT id, v FROM plain {hint}")
    parts += [
        f"INSERT INTO {name} SELECT id, v FROM plain" for name in ("other", "ups", "avro_confluent", "jdbc", "redis")
    ]
    parts += [
        f"INSERT INTO own SELECT id, v FROM {name}" for name in ("ups", "debezium_avro_confluent", "jdbc", "hinted")
    ]
    return ";\n".join(parts)


def seen(text: str) -> list[str]:
    return [p for p in planted if p in text]


COMMANDS = [
    ["check"], ["check", "--output", "json"], ["check", "--output", "sarif"], ["explain"],
    ["explain", "--format", "json"], ["explain", "--format", "dot"], ["explain", "--format", "html"],
    ["compile"], ["compile", "--format", "json"], ["compile", "--views"], ["assess"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids="_".join)
def test_looking_shows_no_secret(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.sql"
    file.write_text(script(), encoding="utf-8")
    code = main([command[0], str(file), *command[1:]])
    printed = capsys.readouterr()
    assert code == 0, printed.err[-1000:]
    assert len(planted) > 50
    assert command[0] in ("check", "assess") or len(printed.out) > 1000
    assert seen(printed.out + printed.err) == []


def test_messages_quote_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(separator=" ").replace("'topic' = ", "'topc' = ").replace("'username' = 'u'", "'usrname' = 'u'")
    text += f"; CREATE TABLE z (a INT) WITH ('connector' = 'jdbc' 'password' = '{plant()}')"
    text += f"; CREATE TABLE z (a INT) WITH ('connector' = 'jdbc', 'password' '{plant()}')"
    text += f"; CREATE TABLE z (a INT) WITH ('connector' = 'jdbc', 'url' = '{plant('x://u:{}@h')}', 'table-name' = 't')"
    given = f"'avro-confluent.properties' = 'basic.auth.user.info:{plant()},a:b', 'format' = 'avro-confluent'"
    text += f"; CREATE TABLE y (a INT) WITH ('connector' = 'kafka', {given})"
    file = tmp_path / "job.sql"
    file.write_text(text, encoding="utf-8")
    for output in ("text", "json", "sarif"):
        assert main(["check", str(file), "--output", output]) == 1
        printed = capsys.readouterr()
        assert "topc" in printed.out + printed.err
        assert seen(printed.out + printed.err) == []


def test_listings_and_values_show_no_secret() -> None:
    catalog = Catalog(views=False)
    compiled = compile_script(SourceText("t.sql", script()))
    catalog.state = compiled.catalog
    for name in tables_of(compiled.catalog):
        listing = str(catalog.execute(f"SHOW CREATE TABLE {name}").rows)
        assert "password" in listing or name == "own"
        assert seen(listing) == []
    assert seen(str(catalog.execute("SHOW CREATE VIEW hinted").rows)) == []
    assert seen(repr(compiled) + repr(compiled.catalog) + repr([vars(a) for a in compiled.actions])) == []
    secret = plant()
    catalog.execute(f"SET 'state.backend.password' = '{secret}'")
    assert seen(str(catalog.execute("SET").rows)) == []


def tables_of(catalog: object) -> list[str]:
    return [*tables(), "own"]


def test_a_program_takes_each_value_from_a_variable_of_its_own() -> None:
    compiled = compile_script(SourceText("t.sql", script()))
    program = Catalog(views=False).compile(script())
    assert Catalog(views=False).compile(script()) == program
    listed = re.search(r"# Secrets are taken from the environment: (.*)", program)
    assert listed is not None
    names = listed[1].split(", ")
    assert {"FLINKDDL_KAFKA_SSL_KEY_PASSWORD", "FLINKDDL_KAFKA_SSL_KEY_PASSWORD_2", "FLINKDDL_PASSWORD"} <= set(names)
    assert set(re.findall(r'os\.environ\["(FLINKDDL_\w+)"\]', program)) - {"FLINKDDL_JARS"} == set(names)
    jobs = [a.job for a in compiled.actions if isinstance(a, Start)]
    held = [o for job in jobs for o in (job.settings, *(getattr(i, "options", {}) for i in (*job.steps, *job.writes)))]
    secrets = {v for options in held for v in options.values() if any(p in v for p in planted)}
    assert len(names) >= len(secrets)


def test_what_java_says_is_scrubbed() -> None:
    for options in tables().values():
        text = "java.sql.SQLException: " + "; ".join(f"{k} is {v!r} here" for k, v in options.items())
        assert seen(scrub(text, secrets_in(options))) == []


def test_spark_hides_the_same_keys() -> None:
    for options in tables().values():
        for key, value in options.items():
            assert not is_secret(key) or re.search(SPARK_REGEX, f"kafka.{key}"), key
            assert is_secret(key) or not any(p == value for p in planted), key


def test_a_word_of_ours_in_an_option_is_a_text() -> None:
    sql = script().replace("'debezium-avro-confluent.url' = '", "'debezium-avro-confluent.url' = 'secret:spark.app.id ")
    assert "secret:spark.app.id" in sql
    jobs = [a.job for a in compile_script(SourceText("t.sql", sql)).actions if isinstance(a, Start)]
    assert "secret:spark.app.id" not in "".join(str(step) for job in jobs for step in job.steps)


def test_a_program_seals_what_the_event_log_would_hold() -> None:
    program = Catalog(views=False).compile(script())
    tree = ast.parse(program)
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    key, texts = "k" * 64, ["", "x", "y" * 32, "tä" * 40]
    made: dict[str, Any] = {}
    exec(compile(ast.Module([functions["seal"]], []), "program", "exec"), made)
    assert [opened(made["seal"](text, key), key) for text in texts] == texts
    lines = [line for line in program.splitlines() if 'conf.set("spark.flinkddl.secret.' in line]
    assert len(lines) > 5
    assert all(re.search(r', secret\(os\.environ\["FLINKDDL_SECRET_\w+"\]\)\)$', line) for line in lines)
    assert "def seal" not in Catalog(views=False).compile("CREATE TABLE b (a INT) WITH ('connector' = 'blackhole')")


def opened(text: str, key: str) -> str:
    """Open what is sealed, as Secrets.java does."""
    data = bytes.fromhex(text.removeprefix("sealed:"))
    nonce, tag, rest = data[:16], data[16:48], data[48:]
    assert tag == hmac.digest(key.encode(), b"tag" + nonce + rest, "sha256")
    blocks = [hmac.digest(key.encode(), b"block %d" % i + nonce, "sha256") for i in range(len(rest) // 32 + 1)]
    return bytes(a ^ b for a, b in zip(rest, b"".join(blocks), strict=False)).decode()
