"""Kerberos (SASL/GSSAPI) for kafka-python's clients, out of the same JAAS entry by which Java's client logs in.

Tickets are MIT Kerberos's own business (package ``gssapi``, extra ``flinkddl[kerberos]``): those of a keytab are kept
in this process alone, and are renewed from it. A process has one krb5.conf, the JVM's and this one's are the same.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark.kerberos import MODULE

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELD = re.compile(r"""([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")
_NO_LAYER = b"\x01"  # SASL's "no security layer", the only one that Kafka knows (RFC 4752, 3.1)
DEFAULT_CONF = "/etc/krb5.conf"
"""What both MIT and the JVM read where nothing else is said."""


@dataclass
class Login:
    """Who logs in to the brokers of one client: ``keytab`` and ``principal``, or the ticket ``cache`` (None: default).

    ``failure`` is what the last broker's login failed of: kafka-python tries again and says only that it timed out.
    """

    service: str
    keytab: str | None = None
    principal: str | None = None
    cache: str | None = None
    use_cache: bool = True
    failure: str = field(default="", compare=False)


def sasl_config(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's arguments for a client that logs in by GSSAPI, logged in at its KDC already.

    Raises FD850 without the package, FD851 where the login fails or its JAAS entry is none that can be followed.
    """
    _import()
    login = parse(properties)
    _credentials(login)
    _register()
    return {"sasl_mechanism": "GSSAPI", "sasl_kerberos_name": login}


def parse(properties: Mapping[str, str]) -> Login:
    """Return the login that ``sasl.jaas.config`` and ``sasl.kerberos.service.name`` mean; ``renewTGT`` is Java's own.

    Without an entry the JVM has a JAAS file or fails: here the default ticket cache counts. Raises FD851.
    """
    entry = properties.get("sasl.jaas.config", "")
    known = jaas_fields(entry)
    service = properties.get("sasl.kerberos.service.name") or known.get("serviceName")
    if not service:
        help = (
            "write 'properties.sasl.kerberos.service.name', the first part of the brokers' principal, such as 'kafka'"
        )
        raise FlinkDdlError.of("FD851", "the Kerberos name of the brokers' service is not given", help=help)
    if not entry:
        return Login(service)
    if entry.split()[0] != MODULE:
        _refuse(f"'{entry.split()[0]}' is no login module that is known here", f"use {MODULE}")
    by_keytab, by_cache = (known.get(k, "").lower() == "true" for k in ("useKeyTab", "useTicketCache"))
    if not (by_keytab or by_cache):
        _refuse("the JAAS entry has neither useKeyTab=true nor useTicketCache=true", "nobody is there to be asked")
    if by_keytab and not (known.get("keyTab") and known.get("principal")):
        _refuse("the JAAS entry says useKeyTab=true without keyTab and principal", "write both")
    keytab = known["keyTab"].removeprefix("FILE:") if by_keytab else None
    return Login(service, keytab, known.get("principal"), known.get("ticketCache"), by_cache)


def jaas_fields(entry: str) -> dict[str, str]:
    """Return the fields of a JAAS entry, without quotes."""
    return {name: _unquote(value) for name, value in _FIELD.findall(entry)}


def _unquote(text: str) -> str:
    quoted = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if quoted else text


def _refuse(why: str, help: str) -> NoReturn:
    raise FlinkDdlError.of("FD851", f"the Kerberos login cannot be made: {why}", help=help)


# ---- tickets ---------------------------------------------------------------------------------------------------------


def _import() -> Any:
    try:
        import gssapi
    except (ImportError, OSError) as error:  # OSError: it is there, and MIT's library is not
        raise FlinkDdlError.of(
            "FD850",
            f"a Kerberos login (SASL/GSSAPI) needs the package 'gssapi', which does not load: {error}",
            help="pip install 'flinkddl[kerberos]' (needs MIT Kerberos, such as Debian's libkrb5-dev)",
        ) from error
    return gssapi


def _credentials(login: Login) -> Any:
    """Return valid credentials: Java looks into the ticket cache first, then takes the keytab. Raises FD851."""
    gssapi = _import()
    name = gssapi.Name(login.principal, gssapi.NameType.kerberos_principal) if login.principal else None
    try:
        if login.use_cache:
            store = {"ccache": login.cache if ":" in login.cache else f"FILE:{login.cache}"} if login.cache else None
            return gssapi.Credentials(name=name, usage="initiate", store=store)
    except gssapi.exceptions.GSSError as error:
        if login.keytab is None:
            _refuse(f"there is no ticket: {_words(error)}", "`kinit` gets one; `klist` lists what is there")
    assert login.keytab is not None
    _check_keytab(gssapi, login.keytab, name)
    store = {"client_keytab": f"FILE:{login.keytab}", "ccache": f"MEMORY:{_digest(login)}"}
    try:
        return gssapi.Credentials(name=name, usage="initiate", store=store)
    except gssapi.exceptions.GSSError:  # "No credentials cache found", whatever the KDC said
        help = f"`kinit -kt {login.keytab} {login.principal}` says why; krb5.conf here is {conf_here()}"
        _refuse(f"the KDC gives no ticket for '{login.principal}'", help)


def _check_keytab(gssapi: Any, keytab: str, name: Any) -> None:
    try:
        Path(keytab).open("rb").close()
        gssapi.Credentials(name=name, usage="accept", store={"keytab": f"FILE:{keytab}"})
    except OSError as error:
        _refuse(f"the keytab '{keytab}' cannot be read: {error.strerror}", "a relative path begins where this runs")
    except gssapi.exceptions.GSSError as error:
        _refuse(f"the keytab '{keytab}' does not hold '{name}': {_words(error)}", f"`klist -kt {keytab}` lists it")


def _digest(login: Login) -> str:
    text = "\0".join((str(login.principal), os.path.abspath(str(login.keytab)), conf_here()))
    return f"flinkddl-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _words(error: Exception) -> str:
    """Return the words of a GSSError that say most: those of Kerberos itself, behind those of GSSAPI."""
    return str(error).rpartition("): ")[2].strip() or str(error)


def conf_here() -> str:
    """Return the krb5.conf that MIT reads in this process."""
    return os.environ.get("KRB5_CONFIG") or DEFAULT_CONF


# ---- the mechanism ---------------------------------------------------------------------------------------------------


class Gssapi:
    """SASL's GSSAPI for one connection, with credentials of its own (kafka-python's takes the process's default ones).

    ``host`` is the broker's, as it advertises itself: MIT may look its name up again (``rdns`` in krb5.conf).
    """

    def __init__(self, host: str, login: Login) -> None:
        gssapi = _import()
        self._login, self._last, self._done = login, False, False
        self._fails = gssapi.exceptions.GSSError
        name = gssapi.Name(f"{login.service}@{_named(host)}", gssapi.NameType.hostbased_service)
        try:
            self._context = gssapi.SecurityContext(name=name, creds=_credentials(login), usage="initiate")
            self._token = self._context.step()
        except FlinkDdlError as error:
            self._failed(error.diagnostics[0].message, error)
        except self._fails as error:
            self._failed(f"{login.service}/{_named(host)}: {_words(error)}", error)

    def auth_bytes(self) -> bytes:
        """Return what goes to the broker next."""
        self._done = self._last
        return self._token or b""

    def receive(self, token: bytes) -> None:
        """Take the broker's answer."""
        if self._done:
            return
        try:
            if not self._context.complete:
                self._token = self._context.step(token)
                return
            offered = self._context.unwrap(token).message
            self._token = self._context.wrap(_NO_LAYER + offered[1:4], False).message  # who we are, the ticket says
        except self._fails as error:
            self._failed(_words(error), error)
        self._last = True

    def _failed(self, why: str, error: Exception) -> NoReturn:
        from kafka.errors import SaslAuthenticationFailedError

        self._login.failure = why
        raise SaslAuthenticationFailedError(why) from error

    def is_done(self) -> bool:
        """Whether there is nothing more to say."""
        return self._done

    def is_authenticated(self) -> bool:
        """Whether the broker knows us, and we it."""
        return self._done

    def auth_details(self) -> str:
        """Return a line for the log."""
        return f"Authenticated as {self._context.initiator_name} via SASL / GSSAPI"


def _named(host: str) -> str:
    """Return the name of an address, as Java's client looks it up (InetAddress.getHostName), and a name as it is."""
    try:
        ipaddress.ip_address(host)
        return socket.getnameinfo((host, 0), socket.NI_NAMEREQD)[0]
    except (ValueError, OSError):
        return host


def _register() -> None:
    """Let kafka-python make ours for clients with a Login; others in this process keep what they had."""
    from kafka.net import sasl

    before = sasl.get_sasl_mechanism("GSSAPI")
    if getattr(before, "ours", False):
        return

    def make(**config: Any) -> Any:
        login = config.get("sasl_kerberos_name")
        return Gssapi(config["host"], login) if isinstance(login, Login) else before(**config)

    make.ours = True  # type: ignore[attr-defined]
    sasl.register_sasl_mechanism("GSSAPI", make, overwrite=True)
