"""What becomes of ``properties.*``: Flink sets some client properties itself, and so does Spark.

Source: kafka-connectors reference 1.4 (Flink), Spark's structured-streaming Kafka guide (keys that may not be set).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.options.kafka_clients import misspelt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.diagnostics import Bag
    from flinkddl.options.registry import Role
    from flinkddl.options.resolved import OptionText

PREFIX = "properties."
_SHADED = "org.apache.flink.kafka.shaded."
_FLINKS = "is about Flink's own metrics and does nothing here"


@dataclass(frozen=True)
class Property:
    """A client property that is not simply passed on: ``warn`` says what happens to it, None keeps silent.

    ``roles`` limits the warning to the roles in which the property would matter; in ``passed`` ones it is passed on.
    """

    warn: str | None = None
    roles: tuple[str, ...] = ("source", "sink")
    passed: tuple[str, ...] = ()


_OWN: Mapping[str, Property] = {
    "bootstrap.servers": Property(),
    "group.id": Property(),
    "key.deserializer": Property("is replaced by the byte-array deserializer", ("source",)),
    "value.deserializer": Property("is replaced by the byte-array deserializer", ("source",)),
    "key.serializer": Property("is replaced by the byte-array serializer", ("sink",)),
    "value.serializer": Property("is replaced by the byte-array serializer", ("sink",)),
    "auto.offset.reset": Property(),
    "enable.auto.commit": Property(),
    "commit.offsets.on.checkpoint": Property(),
    "partition.discovery.interval.ms": Property(
        "is replaced by 'scan.topic-partition-discovery.interval'", ("source",)
    ),
    "client.id.prefix": Property("of a sink does nothing: it has 'properties.client.id'", ("sink",)),
    "register.consumer.metrics": Property(_FLINKS),
    "register.producer.metrics": Property(_FLINKS),
    "flink.disable-metrics": Property(_FLINKS),
    "interceptor.classes": Property(
        "of a source is not passed on: Spark allows no interceptors there", ("source",), ("sink",)
    ),
}

# The modes in which Flink overwrites auto.offset.reset, and with what.
_RESET_BY_MODE = {
    "earliest-offset": "earliest",
    "specific-offsets": "earliest",
    "latest-offset": "latest",
    "timestamp": "latest",
}

# Keys that people write without the prefix; used for did-you-mean only.
WELL_KNOWN = (
    "bootstrap.servers", "group.id", "auto.offset.reset", "enable.auto.commit", "security.protocol", "sasl.mechanism",
    "sasl.jaas.config", "ssl.truststore.location", "ssl.truststore.password", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.key.password", "sasl.kerberos.service.name", "max.poll.records", "isolation.level",
    "transaction.timeout.ms", "client.id", "acks", "batch.size", "linger.ms", "compression.type", "max.request.size",
    "zookeeper.connect",
)  # fmt: skip


def resolve(options: Mapping[str, OptionText], role: Role, mode: str, bag: Bag) -> dict[str, str]:
    """Return the properties for the Kafka clients, without prefix; say which written ones are replaced.

    ``mode`` is the startup mode ("earliest-offset" for upsert-kafka).
    """
    out: dict[str, str] = {}
    for key, text in options.items():
        if not key.startswith(PREFIX):
            continue
        name = key[len(PREFIX) :]
        known = _OWN.get(name)
        if known is None or role in known.passed:
            out[name] = clean(name, text.value)
            meant = misspelt(name) if known is None else None
            if meant not in (None, "bootstrap.servers"):  # whose lack is told at the misspelt one
                message = f"'{key}' is passed on, and Kafka's clients know no such property"
                bag.warning("FD223", message, text.key_span, f"did you mean '{PREFIX}{meant}'?")
        elif known.warn and role in known.roles and not _harmless(name, text.value):
            bag.warning("FD223", f"'{key}' {known.warn}", text.key_span, "remove the option")
    _client_prefix(options, role, out, bag)
    _reset_warning(options, role, mode, bag)
    return out


def _client_prefix(options: Mapping[str, OptionText], role: Role, out: dict[str, str], bag: Bag) -> None:
    """Name a source's clients by their prefix. Flink adds a reader's number, of which Spark's have none that stays."""
    prefix, plain = options.get(f"{PREFIX}client.id.prefix"), options.get(f"{PREFIX}client.id")
    if prefix is None or role != "source":
        return
    out["client.id"] = prefix.value
    if plain is not None:
        message = "'properties.client.id' is replaced by 'properties.client.id.prefix'"
        bag.warning("FD223", message, plain.key_span, "remove one of them")


def clean(name: str, value: str) -> str:
    r"""Return a property's value for any Kafka client: no shaded class names, no ``\"`` in JAAS texts.

    Java's clients compare mechanisms by case, and all that there are have upper-case names.
    """
    if name == "sasl.mechanism":
        return value.upper()
    value = value.replace(_SHADED, "")
    return value.replace('\\"', '"') if name.endswith("sasl.jaas.config") else value


def _harmless(name: str, value: str) -> bool:
    return name.endswith("serializer") and "ByteArray" in value


def _reset_warning(options: Mapping[str, OptionText], role: Role, mode: str, bag: Bag) -> None:
    text = options.get(f"{PREFIX}auto.offset.reset")
    forced = _RESET_BY_MODE.get(mode)
    if text and forced and role == "source" and text.value.lower() != forced:
        bag.warning(
            "FD223",
            f"'properties.auto.offset.reset' has no effect in the startup mode '{mode}'",
            text.key_span,
            "it counts only where 'scan.startup.mode' is 'group-offsets'",
        )


def replaced() -> dict[str, str]:
    """Return the properties that are not passed on, and what happens instead; those that Flink replaces too apart."""
    return {name: p.warn for name, p in _OWN.items() if p.warn is not None and not name.endswith("serializer")}
