"""Texts, values and bounds, as Java reads and writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselog.broker.config import ConfigError, parse_properties
from leaselog.broker.config.definitions import BROKER, CLIENT_METRICS, GROUP, TOPIC
from leaselog.broker.config.values import ConfigType, Value, format_value, parse_value


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (ConfigType.INT, " +5 ", 5),
        (ConfigType.INT, "-2147483648", -2147483648),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.BOOLEAN, " True", True),
        (ConfigType.DOUBLE, "1.7976931348623157E308", 1.7976931348623157e308),
        (ConfigType.DOUBLE, ".5", 0.5),
        (ConfigType.LIST, " a , b,a ", ("a", "b")),
        (ConfigType.LIST, "", ()),
        (ConfigType.STRING, " x ", "x"),
    ],
)
def test_a_text_becomes_the_value_java_would_read(type_: ConfigType, text: str, value: Value) -> None:
    assert parse_value("key", type_, text) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "0x10"),
        (ConfigType.INT, "٣"),
        (ConfigType.INT, ""),
        (ConfigType.INT, "9" * 5000),
        (ConfigType.SHORT, "40000"),
        (ConfigType.DOUBLE, "nan"),
        (ConfigType.BOOLEAN, "yes"),
    ],
)
def test_what_java_would_not_read_is_refused_in_one_line(type_: ConfigType, text: str) -> None:
    with pytest.raises(ConfigError, match=r"\AInvalid value .* for configuration key: .*\Z"):
        parse_value("key", type_, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (0.0001, "1.0E-4"),
        (0.001, "0.001"),
        (0.0, "0.0"),
        (True, "true"),
        (("a", "b"), "a,b"),
        ((), ""),
        (None, None),
    ],
)
def test_a_value_is_written_as_java_writes_it(value: Value, text: str | None) -> None:
    assert format_value(value) == text


def test_every_default_is_within_its_own_bounds() -> None:
    for table in (BROKER, TOPIC, GROUP, CLIENT_METRICS):
        for key in table.values():
            key.check(key.name, key.default)


def test_every_default_survives_being_written_and_read() -> None:
    for table in (BROKER, TOPIC, GROUP, CLIENT_METRICS):
        for key in table.values():
            text = format_value(key.default)
            assert text is None or key.parse(text) == key.default


def test_a_topic_or_group_key_takes_its_default_from_keys_the_broker_has() -> None:
    for table in (TOPIC, GROUP):
        for key in table.values():
            assert set(key.broker_keys) <= set(BROKER)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1\nb:2\nc 3", {"a": "1", "b": "2", "c": "3"}),
        ("# no\n! no\n\n  \t\n", {}),
        ("  a \t = \t 1 2 ", {"a": "1 2 "}),
        ("a=1\\\n   ,2\\\r\n,3\r", {"a": "1,2,3"}),
        ("a\\=b\\ c=1", {"a=b c": "1"}),
        ("a=\\u0041\\t\\q\\\\", {"a": "A\tq\\"}),
        ("a", {"a": ""}),
        ("a==1", {"a": "=1"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=\\\\\nb=2", {"a": "\\", "b": "2"}),
        ("a=1\\\n#b=2", {"a": "1#b=2"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("é=ü", {"é": "ü"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, found: dict[str, str]) -> None:
    assert parse_properties(text) == found


def test_a_broken_escape_names_its_line() -> None:
    with pytest.raises(ConfigError, match="line 2"):
        parse_properties("a=1\nb=\\u12x4")


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_escaped_properties_come_back_whatever_they_hold(wanted: dict[str, str]) -> None:
    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in wanted.items())
    assert parse_properties(text) == wanted


def escaped(text: str) -> str:
    """As java.util.Properties.store would write it, with every UTF-16 unit spelled out."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))
