"""What the runtime asks a Kafka cluster: topics, partitions, offsets of every kind, and commits for a group."""

from __future__ import annotations

import logging
import re
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from flinkddl.diagnostics import FlinkDdlError, did_you_mean
from flinkddl.runtime.kafka.config import python_client_config
from flinkddl.runtime.kafka.opening import LoginRefused, open_admin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Offsets = dict[str, dict[int, int]]
"""Topic -> partition -> offset."""

REACH_SECONDS = 5.0
SLOW_SECONDS = 0.5
REFUSES_LOGIN = "refuses the login"
PATIENCE = 4
"""How many times as long a server that may only be slow is waited for, the second time."""
_API_VERSIONS = bytes.fromhex("0000000a 0012 0000 00000000 ffff")  # length, key 18, version 0, number 0, no client id
RETRY_SECONDS = 20.0
NO_ID = "00000000-0000-0000-0000-000000000000"
_UNKNOWN_TOPIC = 3  # Kafka's error code UNKNOWN_TOPIC_OR_PARTITION
_HIDDEN_TOPIC = 29  # TOPIC_AUTHORIZATION_FAILED
_NO_PARTITION = 2**31 - 1
_TELLS_RIGHTS = (2, 3)  # KIP-430
T = TypeVar("T")


class KafkaAdmin:
    """An open admin client of one cluster.

    ``properties`` are Java client properties, without the ``properties.`` prefix.
    Raises FD811 when the cluster is not reached within ``timeout`` seconds, FD812 for a topic that is not there, FD814
    for what the cluster refuses (rights, login).
    """

    def __init__(self, properties: Mapping[str, str], timeout: float = REACH_SECONDS) -> None:
        self.servers = properties.get("bootstrap.servers", "")
        self._version: tuple[int, ...] | None = None
        config = python_client_config(properties)
        self._login = config.get("sasl_kerberos_name")
        self._sasl = str(config.get("security_protocol", "")).startswith("SASL")
        logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it logs each retry; we report the outcome
        self._client = self._connect(config, timeout)

    def _connect(self, config: dict[str, Any], timeout: float) -> Any:
        from kafka.errors import KafkaConnectionError, KafkaTimeoutError

        with self._errors():
            try:
                return open_admin(config, timeout)
            except ValueError as error:
                raise FlinkDdlError.of("FD811", f"'{self.servers}' is no list of Kafka addresses: {error}") from error
            except (KafkaConnectionError, KafkaTimeoutError):
                if not slow(self.servers):
                    raise
                return open_admin(config, timeout * PATIENCE)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> KafkaAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # topics

    def topics(self) -> list[str]:
        """Return the names of all topics that this user sees, sorted."""
        return sorted(self._ask(self._client.list_topics))

    def cluster_id(self) -> str:
        """Return the id that the cluster was formatted with."""
        return str(self._ask(self._client.describe_cluster)["cluster_id"])

    def version(self) -> tuple[int, ...]:
        """Return the version of a broker, such as (3, 9), inferred from the requests that it understands."""
        if self._version is None:
            broker = self._a_broker()
            self._version = tuple(self._ask(lambda: self._client.get_broker_version_data(broker)).broker_version)
        return self._version

    def _a_broker(self) -> int:
        return int(self._ask(self._client.describe_cluster)["brokers"][0]["broker_id"])

    def broker_setting(self, name: str) -> str | None:
        """Return a setting of a broker, None where this user may not read it."""
        from kafka.admin import ConfigResource, ConfigResourceType

        broker = str(self._a_broker())
        wanted = [ConfigResource(ConfigResourceType.BROKER, broker, {name: None})]
        found = self._ask(lambda: self._client.describe_configs(wanted, config_filter="all"))
        setting = found.get("broker", {}).get(broker, {}).get(name)
        return None if setting is None else setting["value"]

    def topic_settings(self, topic: str, which: Literal["modified", "all"] = "modified") -> dict[str, str]:
        """Return the settings that a topic was given of its own, or "all", with the brokers' defaults.

        Nothing at all, of a topic whose settings this user may not read: the client passes over that error.
        """
        from kafka.admin import ConfigResource, ConfigResourceType

        wanted = [ConfigResource(ConfigResourceType.TOPIC, topic, None)]
        found = self._ask(lambda: self._client.describe_configs(wanted, config_filter=which))
        return {name: str(s["value"]) for name, s in found.get("topic", {}).get(topic, {}).items()}

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic with one replica; one that exists is left as it is."""
        from kafka.errors import TopicAlreadyExistsError

        spec = {"num_partitions": partitions, "replication_factor": 1, "configs": dict(configs or {})}
        try:
            self._ask(lambda: self._client.create_topics({name: spec}, wait_for_metadata=True))
        except FlinkDdlError as error:
            if not isinstance(error.__cause__, TopicAlreadyExistsError):
                raise

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises FD812 when it is not there."""
        self.partitions([name])
        self._ask(lambda: self._client.delete_topics([name]))

    def matching(self, pattern: str) -> list[str]:
        """Return the topics whose whole name matches a regular expression, internal ones left out."""
        return [name for name in self.topics() if re.fullmatch(pattern, name) and not name.startswith("__")]

    def partitions(self, topics: Iterable[str]) -> dict[str, list[int]]:
        """Return the partition numbers of each topic. Raises FD812 for a topic that is not there."""
        found = self._described(topics)
        return {name: sorted(p["partition_index"] for p in topic["partitions"]) for name, topic in found.items()}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the id that each topic was created with (all zeros where brokers before 2.8 give none).

        Raises FD812 for a topic that is not there.
        """
        return {name: str(topic.get("topic_id") or NO_ID) for name, topic in self._described(topics).items()}

    def topic_id(self, topic: str) -> str | None:
        """Return the id of a topic, None where it is not there; asking makes none."""
        found = self._ask(lambda: self._client.describe_topics([topic]))[0]
        return None if found["error_code"] == _UNKNOWN_TOPIC else str(found.get("topic_id") or NO_ID)

    def _described(self, topics: Iterable[str]) -> dict[str, Any]:
        wanted = list(topics)
        found = {t["name"]: t for t in self._ask(lambda: self._client.describe_topics(wanted))}
        for name in wanted:
            if name not in found or found[name]["error_code"] == _UNKNOWN_TOPIC:
                raise self._missing_topic(name)
        return {name: found[name] for name in wanted}

    def rights(self, topic: str) -> set[str] | None:
        """Return what this user may do with a topic (READ, WRITE, ...), None where it does not exist.

        Nothing of what may be seen is there where the topic is hidden; all rights where brokers before 2.3 tell none.
        """
        found = self._ask(lambda: self._client.describe_topics([topic]))[0]
        if found["error_code"] == _UNKNOWN_TOPIC:
            return None
        if found["error_code"] == _HIDDEN_TOPIC:
            return set()
        return set(found["authorized_operations"]) if self.version() >= _TELLS_RIGHTS else {"READ", "WRITE"}

    def _missing_topic(self, name: str) -> FlinkDdlError:
        help_text = did_you_mean(name, self.topics())
        return FlinkDdlError.of(
            "FD812",
            f"the topic '{name}' does not exist at '{self.servers}'",
            help=help_text or "create it, or check 'topic' and 'properties.bootstrap.servers'",
        )

    # offsets

    def begin_offsets(self, topics: Iterable[str]) -> Offsets:
        """Return the first offset of each partition that is still kept."""
        from kafka import OffsetSpec

        return self._offsets(topics, OffsetSpec.EARLIEST)

    def end_offsets(self, topics: Iterable[str]) -> Offsets:
        """Return the offset after the last record of each partition."""
        from kafka import OffsetSpec

        return self._offsets(topics, OffsetSpec.LATEST)

    def offsets_at(self, topics: Iterable[str], millis: int) -> Offsets:
        """Return the first offset whose timestamp is at or after a time (epoch milliseconds), else the end offset."""
        names = list(topics)
        found, ends = self._offsets(names, millis), self.end_offsets(names)
        return {t: {p: o if o >= 0 else ends[t][p] for p, o in parts.items()} for t, parts in found.items()}

    def _offsets(self, topics: Iterable[str], spec: Any) -> Offsets:
        from kafka import TopicPartition

        parts = self.partitions(topics)
        wanted = {TopicPartition(t, p): spec for t, numbers in parts.items() for p in numbers}
        answer = self._ask(lambda: self._client.list_partition_offsets(wanted))
        return {t: {p: answer[TopicPartition(t, p)].offset for p in numbers} for t, numbers in parts.items()}

    def committed(self, group: str, topics: Iterable[str]) -> Offsets:
        """Return the offsets that a group has committed; partitions without one are left out."""
        from kafka import TopicPartition

        parts = self.partitions(topics)
        wanted = [TopicPartition(t, p) for t, numbers in parts.items() for p in numbers]
        answer = self._ask(lambda: self._client.list_group_offsets({group: wanted}))[group]
        out: Offsets = {t: {} for t in parts}
        for place, value in answer.items():
            if value.offset >= 0:
                out[place.topic][place.partition] = value.offset
        return out

    def commit(self, group: str, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Commit offsets for a group that has no live members. Raises FD814 when the cluster refuses."""
        from kafka import OffsetAndMetadata, TopicPartition

        values = {
            TopicPartition(t, p): OffsetAndMetadata(o, "", -1) for t, ps in offsets.items() for p, o in ps.items()
        }
        if values:
            self._ask(lambda: self._commit_once(group, values))

    def may_commit(self, group: str, topic: str) -> bool:
        """Return whether this user may commit for a group. Nothing is committed: the partition named is in no topic."""
        from kafka import OffsetAndMetadata, TopicPartition
        from kafka.errors import GroupAuthorizationFailedError

        values = {TopicPartition(topic, _NO_PARTITION): OffsetAndMetadata(0, "", -1)}
        try:
            found = self._ask(lambda: self._client.alter_group_offsets(group, values))
        except FlinkDdlError as error:
            if isinstance(error.__cause__, GroupAuthorizationFailedError):
                return False
            raise
        return GroupAuthorizationFailedError not in found.values()

    def _commit_once(self, group: str, values: Mapping[Any, Any]) -> None:
        from kafka.errors import NoError

        for error in self._client.alter_group_offsets(group, values).values():
            if error is not NoError:
                raise error

    # errors

    def _ask(self, call: Callable[[], T]) -> T:
        """Run a request; what passes by itself (elections, a coordinator that is being made) is tried again."""
        from kafka.errors import RetriableError

        end = time.monotonic() + RETRY_SECONDS
        with self._errors():
            while True:
                try:
                    return call()
                except RetriableError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.2)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from kafka.errors import BrokerResponseError, KafkaConnectionError, KafkaError, KafkaTimeoutError

        try:
            yield
        except LoginRefused as error:
            raise self._by_kerberos() or self._refused(describe(error)) from error
        except (KafkaConnectionError, KafkaTimeoutError) as error:
            if (failed := self._by_kerberos()) is not None:
                raise failed from error
            found = _found(self.servers)
            if "silent" in found:
                raise FlinkDdlError.of(
                    "FD811",
                    f"the server at '{self.servers}' takes connections and answers nothing",
                    help="is it a Kafka listener, and is the broker well? See its log",
                ) from error
            if self._sasl and "kafka" in found:  # the client may miss the answer before the server hangs up
                raise self._refused("it hangs up without a word") from error
            if found & {"there", "kafka"}:  # the client says the same of a login that is missing as of an empty address
                raise FlinkDdlError.of(
                    "FD814",
                    f"the server at '{self.servers}' does not let this client in",
                    help="check 'properties.security.protocol', the login in 'properties.sasl.jaas.config',"
                    " and that it is a Kafka listener",
                ) from error
            raise FlinkDdlError.of(
                "FD811",
                f"no Kafka cluster answers at '{self.servers}'",
                help=f"{_unknown_hosts(self.servers)}check 'properties.bootstrap.servers' and the network",
            ) from error
        except (BrokerResponseError, KafkaError) as error:
            raise FlinkDdlError.of("FD814", f"Kafka at '{self.servers}' refused: {describe(error)}") from error

    def _by_kerberos(self) -> FlinkDdlError | None:
        if self._login is None or not self._login.failure:
            return None
        help = "is 'properties.sasl.kerberos.service.name' the service of the brokers' principal?"
        message = f"the Kerberos login at '{self.servers}' fails: {self._login.failure}"
        return FlinkDdlError.of("FD851", message, help=help)

    def _refused(self, words: str) -> FlinkDdlError:
        help = "check user and password in 'properties.sasl.jaas.config', and 'properties.sasl.mechanism'"
        return FlinkDdlError.of("FD814", f"the server at '{self.servers}' {REFUSES_LOGIN}: {words}", help=help)


def _unknown_hosts(servers: str) -> str:
    """Return which hosts of a list have no address, as words before others; "" where all have one."""
    unknown = []
    for server in servers.split(","):
        host = server.strip().rpartition(":")[0].strip("[]")
        try:
            socket.getaddrinfo(host, None)
        except (OSError, UnicodeError):
            unknown.append(f"'{host}'")
    return f"no host is called {' or '.join(unknown)} here; " if unknown else ""


def slow(servers: str) -> bool:
    """Return whether a server of a list takes connections and leaves a request unanswered for half a second.

    The request needs no login: a server that answers it at once has refused the client's login, and one that hangs up
    does not speak Kafka, or not without TLS.
    """
    return "silent" in _found(servers)


def _found(servers: str) -> set[str]:
    return {_asked(server.strip()) for server in servers.split(",")}


def _asked(server: str) -> str:
    """Return what a server is: ``away``, ``silent``, ``kafka`` (it answers the request) or ``there`` (it hangs up)."""
    host, _, port = server.rpartition(":")
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), timeout=1)
    except (OSError, ValueError):
        return "away"
    with connection:
        connection.settimeout(SLOW_SECONDS)
        try:
            connection.sendall(_API_VERSIONS)
            answer = connection.recv(1)
        except TimeoutError:
            return "silent"
        except OSError:
            return "there"
    return "kafka" if answer else "there"


def describe(error: Exception) -> str:
    """Return a Kafka client error as words: its own text, else the class name taken apart."""
    text = re.sub(r"^\[Error \d+\]\s*|\bSasl\w+Error:\s*", "", str(error)).strip().rstrip(":").strip()
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Error")).lower()
    return text if text and text != type(error).__name__ else words
