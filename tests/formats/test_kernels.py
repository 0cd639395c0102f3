"""Every decoder and encoder on Spark, by the cases of the formats reference, section 11 (its numbers are the ids)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.harness import IGNORE, decode, encode
from tests.support.registry import Registry

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
ISO = {"timestamp-format.standard": "ISO-8601"}
BAD = "Failed to deserialize"
TREE = {"decode.json-parser.enabled": False}

JSON_READ: list[tuple[str, str, dict[str, Any], str | None, Any]] = [
    ("J1", "id BOOLEAN", {}, '{"id": "trueA"}', [["false"]]),
    ("J2", "id INT", IGNORE, '{"id":"abc"}', [[None]]),
    ("J2", "id INT", {}, '{"id":"abc"}', """Failed to deserialize JSON '{"id":"abc"}'."""),
    ("J3", "id INT", IGNORE, '{"id":11211111111.013}', [[None]]),
    ("J4", "id INT", {}, '{"id":112.013}', [["112"]]),
    ("J4", "id BIGINT", {}, '{"id":112.013}', [["112"]]),
    ("J5", "id DOUBLE", {}, '{"id":"112.013.123"}', BAD),
    ("J5", "id DOUBLE", IGNORE, '{"id":"112.013.123"}', [[None]]),
    ("J6", "id TIME", {}, '{"id":"18:00:243"}', BAD),
    ("J6", "id TIME", IGNORE, '{"id":"18:00:243"}', [[None]]),
    ("J7", "id DATE", {}, '{"id":"20191112"}', BAD),
    ("J7", "id DATE", IGNORE, '{"id":"20191112"}', [[None]]),
    ("J8", "id STRING", {}, '{"id":true}', [["true"]]),
    ("J9", "id STRING", {}, '{"id":123.234}', [["123.234"]]),
    ("J10", "id STRING", {}, '{"id":["array data1",123,234.345]}', [['["array data1",123,234.345]']]),
    ("J11", "id STRING", {}, '{"id":{"k1":123,"k2":234.234}}', [['{"k1":123,"k2":234.234}']]),
    ("J12", "id TIMESTAMP(0)", ISO, '{"id":"2019-11-12 18:00:12"}', BAD),
    ("J12", "id TIMESTAMP(0)", IGNORE | ISO, '{"id":"2019-11-12 18:00:12"}', [[None]]),
    ("J13", "id TIMESTAMP(0)", {}, '{"id":"2019-11-12T18:00:12"}', BAD),
    ("J13", "id TIMESTAMP(0)", IGNORE, '{"id":"2019-11-12T18:00:12Z"}', [[None]]),
    ("J14", "id TIMESTAMP(0)", ISO, '{"id":"2019-11-12T18:00:12Z"}', BAD),
    ("J15", "id TIMESTAMP_LTZ(0)", {}, '{"id":"2019-11-12T18:00:12+0800"}', BAD),
    ("J16", "id DECIMAL(10,3)", {}, '{"id":"abc"}', BAD),
    ("J16", "id DECIMAL(10,3)", IGNORE, '{"id":"abc"}', [[None]]),
    ("J17", "`row` ROW<id BOOLEAN>", {}, '{"row":{"id":"abc"}}', [[["false"]]]),
    ("J18", "`array` ARRAY<INT>", IGNORE, '{"array":[123, "abc"]}', [[["123", None]]]),
    ("J18", "`array` ARRAY<INT>", {}, '{"array":[123, "abc"]}', "Fail to deserialize at field: array."),
    ("J19", "m MAP<STRING,INT>", IGNORE, '{"m":{"k":"123", "l":"abc"}}', [[{"k": "123", "l": None}]]),
    ("J20", "id INT, factor DECIMAL(38,18)", {}, '{"id":1,"factor":799.929496989092949698}',
     [["1", "799.929496989092949698"]]),
    ("J21", "id STRING", {}, '{"id":"\tstring field"}', [["\tstring field"]]),
    ("J22", "f1 INT, f2 BOOLEAN", {}, "[]", []),
    ("J23", "f1 INT, f3 STRING", {}, '[{"f1":1,"f3":"a"},{"f1":10,"f3":"b"}]', [["1", "a"], ["10", "b"]]),
    ("J24", "name STRING", {"fail-on-missing-field": True}, None, []),
    ("J24", "name STRING", {"fail-on-missing-field": True}, "", []),
    ("J25", "name STRING", {}, '{"id":123123123}', [[None]]),
    ("J25", "name STRING", {"fail-on-missing-field": True}, '{"id":123123123}', "Some field is missing"),
    ("J25", "name STRING", {"fail-on-missing-field": True} | TREE, '{"id":1}',
     "Could not find field with name 'name'."),
    ("J26", "b BOOLEAN, i INT, d DOUBLE", {}, '{"b":"true","i":"5","d":"1.5"}', [["true", "5", "1.5"]]),
    ("J27", "f0 STRING, f1 INT", {}, '{"f0":"abc", "f1": "abc"}', "Fail to deserialize at field: f1."),
    ("J28", "id INT", IGNORE, "not valid json", []),
    ("J29", "a DECIMAL(5,2)", {}, '{"a":12345.678}', [[None]]),
    ("J29", "a DECIMAL(5,2)", {}, '{"a":123.455}', [["123.46"]]),
    ("J30", "a BOOLEAN", {}, '[{"a":1},{"a":"TRUE "}]', [["false"], ["true"]]),
    ("J30", "a BOOLEAN", {}, '{"a":{}}', [["false"]]),
    ("J31", "a STRING", {}, '[{"a":1.10},{"a":1e3}]', [["1.10"], ["1e3"]]),
    ("J31", "a STRING", TREE, '[{"a":1.10},{"a":1e3}]', [["1.1"], ["1000.0"]]),
    # Spark has six digits, and Flink itself holds a TIMESTAMP(3) in milliseconds once it leaves the format
    ("J32", "a TIMESTAMP(6)", {}, '{"a":"2020-12-30 12:13:14.123456789"}', [["2020-12-30T12:13:14.123456"]]),
    ("J32", "a TIMESTAMP(3)", {}, '{"a":"2020-12-30 12:13:14.123456789"}', [["2020-12-30T12:13:14.123"]]),
    ("J33", "a TIMESTAMP(3)", {}, '[{"a":"2021-02-30 00:00:00"},{"a":"2020-12-30 24:00:00"}]',
     [["2021-02-28T00:00"], ["2020-12-31T00:00"]]),
    ("J34", "a TIMESTAMP_LTZ(3)", {}, '{"a":"2020-12-30 12:13:14"}', BAD),
    ("J34", "a TIMESTAMP_LTZ(3)", {}, '{"a":"2020-12-30 12:13:14Z"}', [["2020-12-30T12:13:14Z"]]),
    ("J35", "a INT, b STRING", {}, '{"a":1,"b":"x"}{"a":2}', [["1", "x"]]),
    ("J36", "a VARCHAR(2), b CHAR(5)", {}, '{"a":"abcdef","b":"x"}', [["abcdef", "x"]]),
]  # fmt: skip


def fails_with(words: str, name: str, columns: str, message: Any, options: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="FD750: value of table 't', topic 't', partition 0, offset 0: ") as caught:
        decode(name, columns, [message], options)
    assert words in str(caught.value)


@pytest.mark.parametrize(("id", "columns", "options", "message", "expected"), JSON_READ)
def test_json_reads(id: str, columns: str, options: dict[str, Any], message: str | None, expected: Any) -> None:
    if isinstance(expected, str):
        fails_with(expected, "json", columns, message, options)
    else:
        assert decode("json", columns, [message], options) == expected


# what the message says after the offset when the decoder knows the field, and nothing when it does not
FIELDS: list[tuple[str, str, dict[str, Any], str | bytes, str]] = [
    ("json", "a INT, b INT", {}, '{"a":1,"b":"x"}', "column 'b': Failed"),
    ("json", "a INT, r ROW<x ARRAY<ROW<y INT>>>", {}, '{"r":{"x":[{"y":1},{"y":"q"}]}}', "column 'r.x.y': Failed"),
    ("json", "a INT, r ROW<x INT>", TREE, '{"r":{"x":"q"}}', "column 'r.x': Failed"),
    ("json", "a INT", {}, '{"a"', "Failed"),
    ("csv", "a STRING, b INT, c STRING", {}, "Test,x,Test", "column 'b': Failed"),
    ("csv", "a STRING, r ROW<x INT, y INT>", {}, "Test,1;q", "column 'r.y': Failed"),
    ("csv", "a STRING, b INT, c STRING", {}, "Test", "Failed"),
    ("avro", "a INT NOT NULL, b STRING NOT NULL", {}, bytes.fromhex("02feffffff0f00"), "column 'b': Failed"),
    ("raw", "a INT", {}, b"xx", "column 'a': "),
    ("debezium-json", "a INT, b INT", {}, '{"after":{"a":1,"b":"x"},"op":"c"}', "column 'b': Corrupt"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "columns", "options", "message", "words"), FIELDS)
def test_errors_name_the_column(
    name: str, columns: str, options: dict[str, Any], message: str | bytes, words: str
) -> None:
    fails_with(f"topic 't', partition 0, offset 0: {words}", name, columns, message, options)


PLAIN = {"encode.decimal-as-plain-number": True}
OMIT = {"encode.ignore-null-fields": True}
NOON = "TIMESTAMP_NTZ'1990-10-14 12:12:43.123456'"
JSON_WRITTEN: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("J40", "a TIMESTAMP(6), b TIMESTAMP_LTZ(6)", {}, f"{NOON}, TIMESTAMP'1990-10-14 12:12:43.12Z'",
     '{"a":"1990-10-14 12:12:43.123456","b":"1990-10-14 12:12:43.12Z"}'),
    ("J41", "a TIME(0), b TIME(3), c TIMESTAMP(6)", ISO, f"43963000, 43963123, {NOON}",
     '{"a":"12:12:43","b":"12:12:43.123","c":"1990-10-14T12:12:43.123456"}'),
    ("J42", "a DECIMAL(9,6), b DECIMAL(20,0), c DECIMAL(11,9)", PLAIN, "123.456789, 454621864049246170, 0.000000027",
     '{"a":123.456789,"b":454621864049246170,"c":0.000000027}'),
    ("J43", "a DECIMAL(9,6), b DECIMAL(20,0), c DECIMAL(11,9)", {}, "123.456789, 454621864049246170, 0.000000027",
     '{"a":123.456789,"b":4.5462186404924617E+17,"c":2.7E-8}'),
    ("J49", "ops ROW<id STRING>, ids ARRAY<INT>, m MAP<STRING,DOUBLE>", OMIT,
     "NULL, NULL, map('k1', 10.01, 'k2', NULL)",
     '{"m":{"k1":10.01,"k2":null}}'),
    ("J50", "ops ROW<id STRING, svt STRING>, ids ARRAY<INT>, m MAP<STRING,DOUBLE>", OMIT,
     "named_struct('id', NULL, 'svt', 'x'), array(1,2,NULL), NULL", '{"ops":{"svt":"x"},"ids":[1,2,null]}'),
    ("J51", "ops ROW<id STRING>, ids ARRAY<INT>, m MAP<STRING,DOUBLE>", OMIT,
     "named_struct('id', NULL), array(), map()", '{"ops":{},"ids":[],"m":{}}'),
    ("J52", "a FLOAT, b DOUBLE, c DOUBLE, d DOUBLE, e DOUBLE", {},
     "1, 1e10D, double('NaN'), double('-Infinity'), 123456789.125",
     '{"a":1.0,"b":1.0E10,"c":"NaN","d":"-Infinity","e":1.23456789125E8}'),
    ("J53", "a DECIMAL(10,2)", {}, "100", '{"a":1E+2}'),
    ("J53", "a DECIMAL(10,2)", PLAIN, "100", '{"a":100.00}'),
    ("J54", "s STRING, `by` BYTES", {}, "'hé你 \"q\" / \\\\ \\n\\u0001', X'010203'",
     '{"s":"hé你 \\"q\\" / \\\\ \\n\\u0001","by":"AQID"}'),
    ("J54", "s STRING", {}, "'\\U0001F600 \\t'", '{"s":"\\uD83D\\uDE00 \\t"}'),
    ("types", "a TINYINT, b SMALLINT, c BIGINT, d DATE, e BOOLEAN, f MULTISET<STRING>", {},
     "-128, 32767, -9223372036854775808, DATE'0001-01-01', true, map('x', 2)",
     '{"a":-128,"b":32767,"c":-9223372036854775808,"d":"0001-01-01","e":true,"f":{"x":2}}'),
]  # fmt: skip


@pytest.mark.parametrize(("id", "columns", "options", "row", "expected"), JSON_WRITTEN)
def test_json_writes(id: str, columns: str, options: dict[str, Any], row: str, expected: str) -> None:
    assert encode("json", columns, [row], options) == [expected.encode()]


def test_json_survives_reading_and_writing() -> None:
    columns = "svt STRING, ops ROW<id STRING>, ids ARRAY<INT>, metrics MAP<STRING,DOUBLE>"  # J47, J48
    bad, good = (
        '{"svt":"x","metrics":{"k1":10.01,"k2":"invalid"}}',
        '{"svt":"y","ops":{"id":"281708d0"},"ids":[1, 2, 3]}',
    )
    assert decode("json", columns, [bad, good], IGNORE) == [
        ["x", None, None, {"k1": "10.01", "k2": None}],
        ["y", ["281708d0"], ["1", "2", "3"], None],
    ]


NULLS = {"null-literal": "null"}
MIXED = {"escape-character": "*", "quote-character": "'", "array-element-delimiter": ":", "field-delimiter": ";"}
CELLS: list[tuple[str, str, dict[str, Any], str, Any]] = [
    ("C1", "BIGINT", NULLS, "null", None), ("C1", "STRING", NULLS, "null", None),
     ("C1", "BOOLEAN", NULLS, "null", None),
    ("C2", "STRING", {}, '"This is a test."', "This is a test."),
    ("C3", "STRING", {}, '"This is a test\n\r."', "This is a test\n\r."),
    ("C4", "FLOAT", {}, "0.33333334", "0.33333334"), ("C4", "DOUBLE", {}, "0.33333333332", "0.33333333332"),
    ("C5", "DECIMAL(38,25)", {}, "1234.0000000000000000000000001", "1234.0000000000000000000000001"),
    ("C6", "DATE", {}, "2018-10-12", "2018-10-12"), ("C6", "TIME(0)", {}, "12:12:12", "12:12:12"),
    ("C7", "TIMESTAMP(0)", {}, '"2018-10-12 12:12:12.123"', "2018-10-12T12:12:12.123"),
    ("C8", "TIMESTAMP_LTZ(0)", {}, '"1970-01-01 00:02:03.456Z"', "1970-01-01T00:02:03.456Z"),
    ("C9", "ROW<a STRING,b INT,c BOOLEAN>", {}, "Hello;42;false", ["Hello", "42", "false"]),
    ("C10", "ARRAY<STRING>", {}, "a;b;c", ["a", "b", "c"]),
    ("C10", "ARRAY<TINYINT>", NULLS, "12;4;null", ["12", "4", None]),
    ("C11", "BYTES", {}, "awML", "0x6b030b"),
    ("C12", "TIME(2)", {}, "12:12:12.23", "12:12:12.230"), ("C12", "TIME(1)", {}, "12:12:12.2", "12:12:12.200"),
    ("C13", "STRING", MIXED, "123*'4**", "123'4*"), ("C14", "STRING", MIXED, "'a;b*'c'", "a;b'c"),
    ("C15", "STRING", MIXED, "'a;b''c'", "a;b'c"), ("C16", "INT", MIXED, "       12          ", "12"),
    ("C18", "STRING", {}, "null", "null"),
    ("C19", "TIME(3)", {}, "12:12:12.232342", "12:12:12.232"),
     ("C19", "TIME(2)", {}, "12:12:12.232312", "12:12:12.230"),
    ("C19", "TIME(1)", {}, "12:12:12.2235", "12:12:12.200"), ("C19", "TIME(0)", {}, "12:12:12.45", "12:12:12"),
    ("C20", "INT", IGNORE, "null", None), ("C25", "STRING", {"disable-quote-character": True}, '"abc', '"abc'),
]  # fmt: skip


@pytest.mark.parametrize(("id", "type", "options", "cell", "value"), CELLS)
def test_csv_reads_a_cell(id: str, type: str, options: dict[str, Any], cell: str, value: Any) -> None:
    d = options.get("field-delimiter", ",")
    row = f"BEGIN{d}{cell}{d}END"
    assert decode("csv", f"f0 STRING, f1 {type}, f2 STRING", [row], options) == [["BEGIN", value, "END"]]


def test_csv_rows_of_wrong_length() -> None:  # C20, C21, C22
    columns = "a STRING, b INT, c STRING"
    fails_with("Fail to deserialize at field: b.", "csv", columns, "Test,null,Test", {})
    fails_with("Row length mismatch. 3 fields expected but was 1.", "csv", columns, "Test", {})
    assert decode("csv", columns, ["Test", "Test,12,Test,Test"], IGNORE) == [["Test", None, None]]
    assert decode("csv", columns, ["#Test,12,Test"]) == [["#Test", "12", "Test"]]
    assert decode("csv", columns, ["#Test,12,Test"], IGNORE | {"allow-comments": True}) == []


CSV_WRITTEN: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("C17", "a ROW<x STRING,y STRING>", MIXED, "named_struct('x','1','y','hello')", "'1:hello'"),
    ("C23", "a STRING, b INT, c STRING", {"quote-character": "#"}, "'Test', 12, '2019-12-26 12:12:12'",
     "Test,12,#2019-12-26 12:12:12#"),
    ("C23", "a STRING, b INT, c STRING", {"disable-quote-character": True}, "'Test', 12, '2019-12-26 12:12:12'",
     "Test,12,2019-12-26 12:12:12"),
    ("C24", "a STRING, b INT, c STRING", {}, "'Test', 12, 'Hello'", "Test,12,Hello"),
    ("C26", "a STRING, b STRING, c STRING, d STRING, e STRING, f STRING, g STRING, h STRING", {},
     "'a b','a,b','a\"b','a;b','a\\\\b','',repeat('a',24),repeat('a',25)",
     '"a b","a,b","a""b",a;b,"a\\b",,' + "a" * 24 + ',"' + "a" * 25 + '"'),
    ("C27", "a STRING, b INT, c DATE, d DECIMAL(3,2), e ARRAY<INT>, f BOOLEAN", {"field-delimiter": ";"},
     "'abc', 1, DATE'2020-01-02', 1.50, array(1,2), true", 'abc;1;"2020-01-02";1.50;"1;2";true'),
    ("C28", "a STRING, b INT, c DATE, d DECIMAL(3,2), e ARRAY<INT>, f BOOLEAN", {"field-delimiter": "|"},
     "'abc', 1, DATE'2020-01-02', 1.50, array(1,2), true", '"abc"|1|"2020-01-02"|1.50|"1;2"|true'),
    ("C29", "a BOOLEAN, b TINYINT, f FLOAT, g DOUBLE, h BYTES, i DECIMAL(10,2), k TIME(3), l TIMESTAMP(3), "
     "m TIMESTAMP_LTZ(3), n ARRAY<INT>, o ROW<x INT, y STRING>", {},
     "true, 1, 1.5, 2.25, X'010203', 100, 11045600, TIMESTAMP_NTZ'2020-01-02 03:04:05.12', "
     "TIMESTAMP'2020-01-02 03:04:05Z', array(1,NULL,3), named_struct('x',1,'y',NULL)",
     'true,1,1.5,2.25,AQID,100.00,03:04:05.6,"2020-01-02 03:04:05.12","2020-01-02 03:04:05Z",1;;3,1;'),
    ("C30", "n ARRAY<INT>, o ROW<x INT, y STRING>", {"null-literal": "\\N"},
     "array(1,NULL,3), named_struct('x',1,'y',NULL)", '"1;\\N;3","1;\\N"'),
    ("C31", "a DECIMAL(10,3)", {"write-bigdecimal-in-scientific-notation": True}, "100000", "1E+5"),
    ("C31", "a DECIMAL(10,3)", {}, "100000", "100000.000"),
]  # fmt: skip


@pytest.mark.parametrize(("id", "columns", "options", "row", "expected"), CSV_WRITTEN)
def test_csv_writes(id: str, columns: str, options: dict[str, Any], row: str, expected: str) -> None:
    assert encode("csv", columns, [row], options) == [expected.encode()]


MANY = (
    "a INT NOT NULL, b STRING, d DECIMAL(10,2), ts TIMESTAMP(3), da DATE, tm TIME(3), ar ARRAY<INT>, "
    "m MAP<STRING,INT>, bo BOOLEAN, `by` BYTES, r ROW<x INT, y STRING>"
)
MANY_ROW = (
    "1, 'ab', 123.45, TIMESTAMP_NTZ'2020-05-15 08:10:13.123', DATE'2020-01-02', 43994123, array(1,NULL), map('k',7), "
    "true, X'0102', named_struct('x',5,'y',NULL)"
)
MANY_HEX = "0202046162020430390286ec91f6c25c02ae9d020296b0fa290204020200000202026b020e0002010204010202020a00"
MANY_JSON = (
    '{"a":1,"b":{"string":"ab"},"d":{"bytes":"09"},"ts":{"long":1589530213123},"da":{"int":18263},'
    '"tm":{"int":43994123},"ar":{"array":[{"int":1},null]},"m":{"map":{"k":{"int":7}}},"bo":{"boolean":true},'
    '"by":{"bytes":"\\u0001\\u0002"},"r":{"org.apache.flink.avro.generated.record_r":{"x":{"int":5},"y":null}}}'
)
MODERN = {"timestamp_mapping.legacy": False}
AVRO: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("A1", "a INT NOT NULL, b STRING", {}, "1, 'a'", "02020261"),
    ("A1", "a INT NOT NULL, b STRING", {}, "1, NULL", "0200"),
    ("A4", MANY, {}, MANY_ROW, MANY_HEX),
    ("A5", MANY, {}, "0" + ", NULL" * 10, "00" * 11),
    ("A6", MANY, {"encoding": "json"}, MANY_ROW, MANY_JSON.encode().hex()),
    ("A7", "a TINYINT NOT NULL, b SMALLINT NOT NULL", {}, "-1, 300", "01d804"),
    ("A8", "a TIMESTAMP(3) NOT NULL", {}, "TIMESTAMP_NTZ'2020-05-15 08:10:13.123'", "86ec91f6c25c"),
    ("A9", "a TIMESTAMP(6) NOT NULL", MODERN, "TIMESTAMP_NTZ'2020-01-02 03:04:05.123456'", "86b4aec3ec5b"),
    ("A10", "a DECIMAL(10,2)", {}, "-1.00", "02029c"), ("A10", "a DECIMAL(10,2)", {}, "0", "020200"),
    ("A11", "id BIGINT, name STRING, description STRING, weight DOUBLE", {},
     "107, 'rocks', 'box of assorted rocks', 5.3",
     "02d601020a726f636b73022a626f78206f66206173736f7274656420726f636b73023333333333331540"),
    ("A12", "a TIME(3) NOT NULL, b TIMESTAMP_LTZ(3) NOT NULL", MODERN, "1, TIMESTAMP'1970-01-01 00:00:00.001'", "0202"),
]  # fmt: skip


@pytest.mark.parametrize(("id", "columns", "options", "row", "expected"), AVRO)
def test_avro_writes_and_reads_back(id: str, columns: str, options: dict[str, Any], row: str, expected: str) -> None:
    (message,) = encode("avro", columns, [row], options)
    assert message is not None
    assert message.hex() == expected
    assert len(decode("avro", columns, [message], options)) == 1


def test_avro_reads() -> None:
    assert decode("avro", MANY, [bytes.fromhex(MANY_HEX), None]) == [
        ["1", "ab", "123.45", "2020-05-15T08:10:13.123", "2020-01-02", "12:13:14.123", ["1", None], {"k": "7"}, "true",
         "0x0102", ["5", None]],
    ]  # fmt: skip
    micros = bytes.fromhex("80890f")  # A13: 123456 under timestamp-micros
    assert decode("avro", "a TIMESTAMP(6) NOT NULL", [micros], MODERN) == [["1970-01-01T00:02:03.456"]]
    assert decode("avro", "a INT", [None]) == []  # A14
    fails_with("Failed to deserialize Avro record.", "avro", "a STRING NOT NULL", bytes.fromhex("feffffff0f00"), {})


A2 = (
    '{"type":"record","name":"record","namespace":"org.apache.flink.avro.generated","fields":'
    '[{"name":"a","type":"int"},{"name":"b","type":["null","string"],"default":null}]}'
)


def test_registry_formats_write_what_they_read() -> None:  # A2, A3, A15, A16
    with Registry() as registry:
        options = {"url": registry.url, "subject": "t-value"}
        columns = "a INT NOT NULL, b STRING"
        (message,) = encode("avro-confluent", columns, ["1, 'a'"], options)
        assert message == bytes.fromhex("000000000102020261")
        assert registry.registered == [("t-value", A2)]
        assert decode("avro-confluent", columns, [message, None], options) == [["1", "a"]]
        encode("avro-confluent", "row3 ROW<row3 ROW<c STRING>>", ["NULL"], options)
        assert '"name":"record_row3"' in registry.registered[-1][1]
        assert '"name":"record_row3_row3"' in registry.registered[-1][1]
        registry.reset()
        added, taken = encode("debezium-avro-confluent", columns, ["1, 'a', 1", "1, 'a', -1"], options)
        assert added is not None
        assert taken is not None
        assert [added[5:].hex(), taken[5:].hex()] == ["02000202020261020263", "02020202026100020264"]
        assert decode("debezium-avro-confluent", columns, [added, taken], options) == [["1", "a", 1], ["1", "a", -1]]


def test_a_registry_that_says_no() -> None:
    with Registry(user="u:p") as registry:
        options = {"url": registry.url, "subject": "s"}
        with pytest.raises(Exception, match="schema registry answered 401"):
            encode("avro-confluent", "a INT", ["1"], options)
        encode("avro-confluent", "a INT", ["1"], options | {"basic-auth.user-info": "u:p"})
        bad = bytes.fromhex("000000000902")
        with pytest.raises(Exception, match="Could not find schema with id 9 in registry"):
            decode("avro-confluent", "a INT", [bad], options | {"basic-auth.user-info": "u:p"})
        with pytest.raises(Exception, match="Magic number does not match"):
            decode("avro-confluent", "a INT", [b"\x01\x00\x00\x00\x01\x00"], options)
    with Registry(token="tok") as registry:
        encode("avro-confluent", "a INT", ["1"], {"url": registry.url, "subject": "s", "bearer-auth.token": "tok"})


SHOP = "id INT, name STRING, w FLOAT"
INSERT = "bootstrap-insert"
ROW_A = '{"id":106,"name":"hammer","w":1.0}'
ROW_B = '{"id":106,"name":"saw","w":1.0}'
A, B = ["106", "hammer", "1.0"], ["106", "saw", "1.0"]
CHANGES: list[tuple[str, str, dict[str, Any], str | None, Any]] = [
    ("D1", "debezium-json", {}, f'{{"before":null,"after":{ROW_A},"op":"c","ts_ms":1}}', [[*A, 1]]),
    ("D2", "debezium-json", {}, f'{{"before":{ROW_A},"after":{ROW_B},"op":"u"}}', [[*A, -1], [*B, 1]]),
    ("D3", "debezium-json", {}, f'{{"before":{ROW_A},"after":null,"op":"d"}}', [[*A, -1]]),
    ("D4", "debezium-json", {}, None, []),
    ("D4", "debezium-json", {}, "", []),
    ("D5", "debezium-json", {}, f'{{"before":null,"after":{ROW_B},"op":"u"}}', "REPLICA IDENTITY to FULL level."),
    ("D6", "debezium-json", {"schema-include": True}, f'{{"schema":{{}},"payload":{{"after":{ROW_A},"op":"r"}}}}',
     [[*A, 1]]),
    ("D9", "canal-json", {}, '{"data":[{"id":"106","name":"hammer","w":"1.0"},{"id":"1"}],"type":"INSERT"}',
     [[*A, 1], ["1", None, None, 1]]),
    ("D10", "canal-json", {}, f'{{"data":[{ROW_B}],"old":[{{"name":null}}],"type":"UPDATE"}}',
     [["106", None, "1.0", -1], [*B, 1]]),
    ("D11", "canal-json", {}, f'{{"data":[{ROW_B}],"old":[{{"name":"hammer"}}],"type":"UPDATE"}}', [[*A, -1], [*B, 1]]),
    ("D13", "canal-json", {}, f'{{"data":[{ROW_A},{ROW_B}],"type":"DELETE"}}', [[*A, -1], [*B, -1]]),
    ("D14", "canal-json", {"database.include": "^my.*", "table.include": "^prod.*"},
     f'{{"database":"mydb","table":"orders","data":[{ROW_A}],"type":"INSERT"}}', []),
    ("D14", "canal-json", {"database.include": "^my.*", "table.include": "^prod.*"},
     f'{{"database":"mydb","table":"product","data":[{ROW_A}],"type":"INSERT"}}', [[*A, 1]]),
    ("D17", "maxwell-json", {}, f'{{"type":"update","data":{ROW_B},"old":{{"name":"hammer"}}}}', [[*A, -1], [*B, 1]]),
    ("D19", "ogg-json", {}, f'{{"op_type":"I","after":{ROW_A}}}', [[*A, 1]]),
    ("D21", "debezium-json", {}, '{"before":null,"after":null,"op":"t"}', 'Unknown "op" value "t"'),
    ("D21", "canal-json", {}, '{"data":null,"type":"ALTER"}', 'Unknown "type" value "ALTER"'),
    ("D21", "maxwell-json", {}, f'{{"data":{ROW_A},"type":"{INSERT}"}}', f'Unknown "type" value "{INSERT}"'),
    ("D21", "ogg-json", {}, f'{{"after":{ROW_A},"op_type":"T"}}', 'Unknown "op_type" value "T"'),
    ("D21", "ogg-json", IGNORE, f'{{"after":{ROW_A},"op_type":"T"}}', []),
    ("D22", "canal-json", {}, '{"data":[{"id":1,"name":"b"},{"id":2,"name":"d","w":8}],'
     '"old":[{"name":null,"w":7},{"name":"c"}],"type":"UPDATE"}',
     [["1", None, "7.0", -1], ["1", "b", None, 1], ["2", "c", None, -1], ["2", "d", "8.0", 1]]),
]  # fmt: skip


@pytest.mark.parametrize(("id", "name", "options", "message", "expected"), CHANGES)
def test_changes_are_read(id: str, name: str, options: dict[str, Any], message: str | None, expected: Any) -> None:
    if isinstance(expected, str):
        fails_with(expected, name, SHOP, message, options)
    else:
        assert decode(name, SHOP, [message], options) == expected


WRITTEN = {  # D7, D16, D19 and the table of section 6.1
    "debezium-json": ('{"before":null,"after":%s,"op":"c"}', '{"before":%s,"after":null,"op":"d"}'),
    "canal-json": ('{"data":[%s],"type":"INSERT"}', '{"data":[%s],"type":"DELETE"}'),
    "maxwell-json": ('{"data":%s,"type":"insert"}', '{"data":%s,"type":"delete"}'),
    "ogg-json": ('{"before":null,"after":%s,"op_type":"I"}', '{"before":%s,"after":null,"op_type":"D"}'),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_changes_are_written_one_by_one(name: str) -> None:
    rows = ["106, 'hammer', 1.0, 1", "106, 'hammer', 1.0, -1"]
    assert encode(name, SHOP, rows) == [(text % ROW_A).encode() for text in WRITTEN[name]]
    omitted = encode(name, SHOP, ["106, NULL, NULL, 1"], {"encode.ignore-null-fields": True})
    assert omitted == [(WRITTEN[name][0] % '{"id":106}').replace('"before":null,', "").encode()]


def test_format_metadata() -> None:  # D8, D15, D18, D20
    source = '"source":{"ts_ms":0,"db":"inventory","table":"products","n":1.5}'
    debezium = f'{{"after":{{"id":1}},"op":"c","ts_ms":1589355606100,{source}}}'
    keys = (
        "ingestion-timestamp",
        "source.timestamp",
        "source.database",
        "source.schema",
        "source.table",
        "source.properties",
    )
    assert decode("debezium-json", "id INT", [debezium], metadata=keys) == [
        ["1", "2020-05-13T07:40:06.100Z", "1970-01-01T00:00:00Z", "inventory", None, "products",
         {"db": "inventory", "n": "1.5", "table": "products", "ts_ms": "0"}, 1],
    ]  # fmt: skip
    canal = (
        '{"data":[{"id":1}],"type":"INSERT","database":"d","table":"t","sqlType":{"id":4},"pkNames":["id"],'
        '"ts":1589373515477,"es":1589373515000}'
    )
    keys = ("database", "table", "sql-type", "pk-names", "ingestion-timestamp", "event-timestamp")
    assert decode("canal-json", "id INT", [canal], metadata=keys) == [
        ["1", "d", "t", {"id": "4"}, ["id"], "2020-05-13T12:38:35.477Z", "2020-05-13T12:38:35Z", 1]
    ]
    maxwell = '{"data":{"id":1},"type":"insert","ts":1596684883,"primary_key_columns":["id"]}'
    assert decode("maxwell-json", "id INT", [maxwell], metadata=("ingestion-timestamp", "primary-key-columns")) == [
        ["1", "2020-08-06T03:34:43Z", ["id"], 1]
    ]
    ogg = (
        '{"after":{"id":1},"op_type":"I","table":"OGG.T","current_ts":"2020-05-13T13:39:35.766000",'
        '"op_ts":"2020-05-13 15:40:06.000000"}'
    )
    assert decode("ogg-json", "id INT", [ogg], metadata=("table", "ingestion-timestamp", "event-timestamp")) == [
        ["1", "OGG.T", "2020-05-13T13:39:35.766Z", "2020-05-13T15:40:06Z", 1]
    ]


LITTLE = {"endianness": "Little-Endian"}
RAW: list[tuple[str, str, dict[str, Any], str, str | None, Any]] = [
    ("W1", "SMALLINT", {}, "32767", "7fff", "32767"), ("W1", "SMALLINT", LITTLE, "32767", "ff7f", "32767"),
    ("W2", "INT", {}, "2147483647", "7fffffff", "2147483647"), ("W2", "INT", LITTLE, "1", "01000000", "1"),
    ("W3", "BIGINT", {}, "9223372036854775807", "7fffffffffffffff", "9223372036854775807"),
    ("W3", "BIGINT", LITTLE, "1", "0100000000000000", "1"),
    ("W4", "FLOAT", {}, "1.5", "3fc00000", "1.5"), ("W4", "DOUBLE", {}, "1.5", "3ff8000000000000", "1.5"),
    ("W5", "BOOLEAN", {}, "true", "01", "true"), ("W5", "BOOLEAN", {}, "false", "00", "false"),
    ("W6", "STRING", {"charset": "UTF-16"}, "'ab'", "feff00610062", "ab"),
    ("W7", "STRING", {}, "''", "", ""), ("W7", "STRING", {}, "NULL", None, None),
    ("bytes", "BYTES", {}, "X'00ff'", "00ff", "0x00ff"),
]  # fmt: skip


@pytest.mark.parametrize(("id", "type", "options", "row", "expected", "value"), RAW)
def test_raw(id: str, type: str, options: dict[str, Any], row: str, expected: str | None, value: Any) -> None:
    (message,) = encode("raw", f"a {type}", [row], options)
    assert (None if message is None else message.hex()) == expected
    assert decode("raw", f"a {type}", [message], options) == [[value]]


def test_raw_of_wrong_length() -> None:
    fails_with("Size of data received for deserializing INT type is not 4.", "raw", "a INT", b"\x00", {})
