"""Each option of a format that is called mapped changes what is read or written: two values, two outcomes."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flinkddl.options import registry
from flinkddl.runtime.machine.java import find_java
from tests.formats.harness import decode, encode
from tests.support.registry import Registry

Values = tuple[Any, Any]
JSON = ("json", "debezium-json", "canal-json", "maxwell-json", "ogg-json")
DELTA = JSON[1:]
FLAGS = (True, False)
STAMP = ("SQL", "ISO-8601")

# A message of each format that holds this object.
HOLDING = {
    "json": "%s",
    "debezium-json": '{"after":%s,"op":"c"}',
    "canal-json": '{"data":[%s],"type":"INSERT","database":"d","table":"t"}',
    "maxwell-json": '{"data":%s,"type":"insert"}',
    "ogg-json": '{"after":%s,"op_type":"I"}',
}
AT = '{"a":"2020-01-02 03:04:05"}'
NULL_KEY = "flinkddl.map_of(array(CAST(NULL AS STRING)), array(1))"
CANAL = HOLDING["canal-json"] % '{"a":1}'

# format, option: columns, the message, two values.
READ: dict[tuple[str, str], tuple[str, str | bytes, Values]] = {
    **{(f, "timestamp-format.standard"): ("a TIMESTAMP(0)", HOLDING[f] % AT, STAMP) for f in JSON},
    **{(f, "ignore-parse-errors"): ("a INT", "{", FLAGS) for f in JSON},
    ("json", "fail-on-missing-field"): ("a INT", "{}", FLAGS),
    ("json", "decode.json-parser.enabled"): ("a STRING", '{"a":1e3}', FLAGS),
    ("debezium-json", "schema-include"): ("a INT", HOLDING["debezium-json"] % '{"a":1}', FLAGS),
    ("canal-json", "database.include"): ("a INT", CANAL, ("^d", "^x")),
    ("canal-json", "table.include"): ("a INT", CANAL, ("^t", "^x")),
    ("csv", "ignore-parse-errors"): ("a INT", "x", FLAGS),
    ("csv", "field-delimiter"): ("a STRING, b STRING", "1,2;3", (",", ";")),
    ("csv", "disable-quote-character"): ("a STRING", '"x"', FLAGS),
    ("csv", "quote-character"): ("a STRING", "'x'", ("'", "|")),
    ("csv", "allow-comments"): ("a STRING", "#x", FLAGS),
    ("csv", "array-element-delimiter"): ("a ARRAY<STRING>", "1;2|3", (";", "|")),
    ("csv", "escape-character"): ("a STRING", "x*|y", ("*", "!")),
    ("csv", "null-literal"): ("a STRING", "none", ("none", "null")),
    ("csv", "trim-spaces"): ("a STRING", " x ", FLAGS),
    ("csv", "ignore-trailing-unmappable"): ("a STRING", "x,y", FLAGS),
    ("csv", "allow-trailing-comma"): ("a STRING", "x,", FLAGS),
    ("csv", "fail-on-missing-columns"): ("a STRING, b STRING", "x", FLAGS),
    ("csv", "empty-string-as-null"): ("a STRING, b STRING", ",x", FLAGS),
    ("avro", "encoding"): ("a STRING NOT NULL", '{"a":"x"}', ("binary", "json")),
    ("avro", "timestamp_mapping.legacy"): ("a TIMESTAMP_LTZ(3) NOT NULL", bytes.fromhex("02"), FLAGS),
    ("raw", "charset"): ("a STRING", "é", ("UTF-8", "ISO-8859-1")),
    ("raw", "endianness"): ("a SMALLINT", bytes.fromhex("0001"), ("big-endian", "little-endian")),
}

# format, option: columns, the row as Spark expressions, two values.
WRITTEN: dict[tuple[str, str], tuple[str, str, Values]] = {
    **{(f, "timestamp-format.standard"): ("a TIMESTAMP(0)", "TIMESTAMP_NTZ'2020-01-02 03:04:05'", STAMP) for f in JSON},
    **{(f, "encode.decimal-as-plain-number"): ("a DECIMAL(10, 2)", "100", FLAGS) for f in JSON},
    **{(f, "encode.ignore-null-fields"): ("a INT, b INT", "1, NULL", FLAGS) for f in JSON},
    **{(f, "map-null-key.mode"): ("a MAP<STRING, INT>", NULL_KEY, ("FAIL", "DROP")) for f in JSON},
    **{(f, "map-null-key.literal"): ("a MAP<STRING, INT>", NULL_KEY, ("x", "y")) for f in JSON},
    ("csv", "field-delimiter"): ("a INT, b INT", "1, 2", (",", ";")),
    ("csv", "disable-quote-character"): ("a STRING", "'x y'", FLAGS),
    ("csv", "quote-character"): ("a STRING", "'x y'", ("'", "|")),
    ("csv", "array-element-delimiter"): ("a ARRAY<INT>", "array(1, 2)", (";", "|")),
    ("csv", "escape-character"): ("a STRING", "'x *y'", ("*", "!")),
    ("csv", "null-literal"): ("a ARRAY<INT>", "array(1, NULL)", ("none", "null")),
    ("csv", "write-bigdecimal-in-scientific-notation"): ("a DECIMAL(10, 2)", "100000", FLAGS),
    ("avro", "encoding"): ("a STRING NOT NULL", "'x'", ("binary", "json")),
    ("avro", "timestamp_mapping.legacy"): ("a TIMESTAMP_LTZ(3) NOT NULL", "TIMESTAMP'2020-01-02 03:04:05Z'", FLAGS),
    ("raw", "charset"): ("a STRING", "'é'", ("UTF-8", "ISO-8859-1")),
    ("raw", "endianness"): ("a SMALLINT", "1", ("big-endian", "little-endian")),
}
BESIDE: dict[str, dict[str, Any]] = {
    "map-null-key.literal": {"map-null-key.mode": "LITERAL"},
    "fail-on-missing-columns": {"ignore-parse-errors": True},
}


def outcome(call: Any, *arguments: Any) -> str:
    """What comes out, or why nothing does."""
    try:
        return repr(call(*arguments))
    except Exception as error:  # noqa: BLE001 - what Spark says of what the kernel says
        return str(error).partition("JVM stacktrace")[0]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("format", "option"), READ)
def test_two_values_read_two_things(format: str, option: str) -> None:
    columns, message, values = READ[format, option]
    beside = BESIDE.get(option, {})
    found = [outcome(decode, format, columns, [message], {**beside, option: v}) for v in values]
    assert found[0] != found[1]
    assert any(f.startswith("[") for f in found), found


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("format", "option"), WRITTEN)
def test_two_values_write_two_things(format: str, option: str) -> None:
    columns, row, values = WRITTEN[format, option]
    row += ", 1" if format in DELTA else ""
    beside = BESIDE.get(option, {})
    found = [outcome(encode, format, columns, [row], {**beside, option: v}) for v in values]
    assert found[0] != found[1]
    assert any(f.startswith("[b") for f in found), found


# ---- the registry's ----------------------------------------------------------------------------------------------

CONFLUENT = ("avro-confluent", "debezium-avro-confluent")
PASSWORD = "changeit"


class Tls:
    """A certificate for 127.0.0.1 as key store, as trust store, and a server that wants it of its clients too."""

    def __init__(self, folder: Path) -> None:
        key, chain = folder / "key.pem", folder / "chain.pem"
        name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", chain, *name)
        self.keys, self.trusted = folder / "keys.p12", folder / "trusted.p12"
        given = ("-in", chain, "-inkey", key, "-out", self.keys, "-passout", f"pass:{PASSWORD}")
        run("openssl", "pkcs12", "-export", *given)
        store = ("-keystore", self.trusted, "-storetype", "PKCS12", "-storepass", PASSWORD)
        run(Path(find_java()).with_name("keytool"), "-importcert", "-noprompt", "-file", chain, "-alias", "ca", *store)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(chain, key)
        self.context.load_verify_locations(chain)
        self.context.verify_mode = ssl.CERT_REQUIRED

    def options(self) -> dict[str, str]:
        stores = {"truststore": self.trusted, "keystore": self.keys}
        places = {f"ssl.{name}.location": str(place) for name, place in stores.items()}
        return places | {f"ssl.{name}.password": PASSWORD for name in stores}


def run(*words: Any) -> None:
    subprocess.run([str(w) for w in words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return Tls(tmp_path_factory.mktemp("tls"))


# option: the registry that the first value opens, what is set beside it, two values.
USER: dict[str, Any] = {"user": "u:p"}
SECURED: dict[str, tuple[dict[str, Any], dict[str, str], Values]] = {
    "basic-auth.user-info": (USER, {}, ("u:p", "u:x")),
    "basic-auth.credentials-source": (USER, {"basic-auth.user-info": "u:p"}, ("USER_INFO", "URL")),
    "bearer-auth.token": ({"token": "t"}, {}, ("t", "x")),
    **{f"ssl.{store}.location": ({}, {}, (None, "/no/such")) for store in ("truststore", "keystore")},
    **{f"ssl.{store}.password": ({}, {}, (None, "wrong")) for store in ("truststore", "keystore")},
}
"""None is the value of ``Tls.options``."""


def through(name: str, columns: str, options: dict[str, Any]) -> str:
    """What is written with these options and read back with them."""
    row = "'x', 1" if "debezium" in name else "'x'"
    return outcome(lambda: decode(name, columns, encode(name, columns, [row], options), options))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", CONFLUENT)
@pytest.mark.parametrize("option", SECURED)
def test_a_registry_opens_to_the_right_value(name: str, option: str, tls: Tls) -> None:
    server, beside, values = SECURED[option]
    secure = option.startswith("ssl.")
    with Registry(**server, tls=tls.context if secure else None) as running:
        base = {"url": running.url, "subject": "s", **beside, **(tls.options() if secure else {})}
        found = [through(name, "a STRING", base | ({} if v is None else {option: v})) for v in values]
    assert found[0].startswith("[["), found[0]
    assert not found[1].startswith("[["), found[1]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", CONFLUENT)
def test_where_a_schema_lies_and_which_it_is(name: str) -> None:
    with Registry() as running, Registry() as other:
        for subject in ("a", "b"):
            through(name, "a STRING", {"url": running.url, "subject": subject})
        assert [subject for subject, _ in running.registered] == ["a", "b"]
        assert other.asked == []
        through(name, "a STRING", {"url": other.url, "subject": "a"})
        schema = other.schemas[0]
        renamed = schema.replace("org.apache.flink.avro.generated", "elsewhere")
        through(name, "a STRING", {"url": other.url, "subject": "a", "schema": renamed})
        assert [schema for _, schema in other.registered] == [schema, renamed]


HERE = {"url", "subject", "schema", *SECURED}


@pytest.mark.parametrize("name", registry.names("format"))
def test_every_mapped_option_is_in_a_table(name: str) -> None:
    document = registry.format(name)
    mapped = {k: s for k, s in document.options.items() if s.use == "mapped" and len(s.choices) != 1}
    for role, table in (("source", READ), ("sink", WRITTEN)):
        asked = {k for k, s in mapped.items() if role in s.roles}
        tabled = {option for format, option in table if format == name}
        assert asked == (tabled if name not in CONFLUENT else HERE & asked), role
