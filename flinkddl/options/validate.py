"""Options of a table checked against the registry for one role: typed values, or every mistake at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import suggest
from flinkddl.diagnostics.secrets import mask
from flinkddl.options import hints, kafka_properties, registry, values
from flinkddl.options.registry import Space
from flinkddl.options.resolved import FormatOptions, ResolvedOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.diagnostics import Bag, Span
    from flinkddl.options.registry import Document, OptionSpec, Role, Rule
    from flinkddl.options.resolved import OptionText


@dataclass
class _Run:
    """One validation: what it reads and what it has found so far."""

    options: Mapping[str, OptionText]
    role: Role
    bag: Bag
    where: Span | None
    document: Document
    spaces: list[Space] = field(default_factory=list)
    consumed: set[str] = field(default_factory=set)


def validate(
    options: Mapping[str, OptionText], role: Role, bag: Bag, where: Span | None = None, used: Span | None = None
) -> ResolvedOptions | None:
    """Check options for a role and return them typed; findings go into ``bag``.

    ``where`` is the place of findings about something absent (the table's name, so that two uses are told of one),
    ``used`` of those about the role. Returns None where the
    connector is unknown or not available; where other options are wrong, their defaults stand in, so that the checks
    after this one can go on. Rules: kafka-connectors reference, section 2.
    """
    document = _connector(options, bag, where)
    if document is None:
        return None
    if role not in document.roles:
        word = "read from" if role == "source" else "written to"
        bag.error("FD204", f"a table with connector '{document.name}' can not be {word}", used or where)
        return None
    run = _Run(options, role, bag, where, document, [Space(document, "", "connector")])
    key_format = _format(run, "key.format", "key.", required=document.keyed)
    value_format = _value_format(run)
    typed = {space.prefix: _typed(run, space) for space in run.spaces}
    for space in run.spaces:
        _required(run, space)
        _rules(run, space, typed[space.prefix])
    _unknown(run)
    _notes(run)
    own = typed[""]
    topics = own.get("topic", ())
    topic = topics[0] if role == "sink" and len(topics) == 1 else None
    return ResolvedOptions(
        connector=document.name,
        role=role,
        values=_with_defaults(document, own),
        given=frozenset(own),
        key_format=_format_options(key_format, typed, topic),
        value_format=_format_options(value_format, typed, topic),
        properties=_properties(run, own),
        texts=options,
        of_topics=document.of_topics,
    )


def _connector(options: Mapping[str, OptionText], bag: Bag, where: Span | None) -> Document | None:
    text = options.get("connector")
    if text is None:
        if not hints.legacy(options, bag):
            help = "add 'connector' = '...' to the WITH clause"
            bag.error("FD201", "the table has no option 'connector'", where, help)
        return None
    document = registry.connector(text.value)
    if document is None:
        hints.no_connector(text, bag)
    return document


def _value_format(run: _Run) -> Space | None:
    if "value" not in run.document.formats:
        return None
    if "format" in run.document.options and "format" in run.options:
        return _format(run, "format", "", required=True)
    key = "value.format" if "value.format" in run.document.options else "format"
    return _format(run, key, "value." if key == "value.format" else "", required=True)


def _format(run: _Run, key: str, prefix: str, required: bool) -> Space | None:
    text = run.options.get(key)
    if key not in run.document.options:
        return None
    if text is None:
        if required:
            short = "format" if key == "value.format" and "format" in run.document.options else key
            unknown = [k for k in run.options if run.document.spec(k) is None]
            if not any(suggest(name, unknown) for name in {key, short}):  # of a misspelt one FD212 tells
                help = f"add '{short}' = 'json'"
                run.bag.error("FD213", f"the required format '{key}' is missing", run.where, help)
        return None
    document = registry.format(text.value)
    if document is None or (document.connectors and run.document.name not in document.connectors):
        hints.no_format(key, text, run.document, run.bag)
        return None
    space = Space(document, f"{prefix}{document.name}.", key)
    run.spaces.append(space)
    role = "key" if prefix == "key." else "value"
    _changelog_allowed(run, space, role, text)
    return space


def _changelog_allowed(run: _Run, space: Space, role: str, text: OptionText) -> None:
    allowed = run.document.formats.get(role, "any")
    if allowed == "any" or space.document.changelog == allowed:
        return
    message = f"'{run.document.name}' does not take '{text.value}' as {role} format, because it is not insert-only"
    run.bag.error("FD216", message, text.value_span, "use one of: json, csv, avro, avro-confluent, raw")


def _typed(run: _Run, space: Space) -> dict[str, Any]:
    """Return the typed values of a space's options under their main names; mistakes go into the bag."""
    out: dict[str, Any] = {}
    for key, text in run.options.items():
        if not key.startswith(space.prefix):
            continue
        name = key[len(space.prefix) :]
        spec = space.document.spec(name)
        if spec is None:
            continue
        run.consumed.add(key)
        main = spec.key if name in (spec.key, *spec.aliases) else name
        if main in out and name != main:
            continue  # the main name wins over an older one
        try:
            out[main] = values.parse(spec.kind, text.value, spec.choices)
        except ValueError as error:
            run.bag.error("FD211", f"invalid value '{mask(key, text.value)}' for '{key}'", text.value_span, str(error))
    return out


def _required(run: _Run, space: Space) -> None:
    missing = [
        space.prefix + name
        for name in space.document.required
        if not any(space.prefix + n in run.options for n in (name, *space.document.options[name].aliases))
    ]
    if missing:
        listed = ", ".join(f"'{m}'" for m in sorted(missing))
        word = "options are" if len(missing) > 1 else "option is"
        help = "add " + " and ".join(f"'{m}' = '...'" for m in sorted(missing))
        # what begins with properties. is an option whatever follows: of those nobody else says that one is misspelt
        clients = [key for key in run.options if key.startswith("properties.")]
        near = next(((key, m) for m in missing if (key := suggest(m, clients)) is not None), None)
        where = run.where
        if near is not None:
            where, help = run.options[near[0]].key_span or where, f"'{near[0]}': did you mean '{near[1]}'?"
        run.bag.error("FD210", f"required {word} missing: {listed}", where, help)


def _rules(run: _Run, space: Space, typed: dict[str, Any]) -> None:
    instance = {k: list(v) if isinstance(v, tuple) else v for k, v in typed.items()}
    doubtful = _doubtful(run, space, typed)
    for rule in space.document.rules:
        if run.role in rule.roles and not rule.holds(instance):
            text = repr(rule.schema)
            if not any(repr(name) in text for name in doubtful):
                _broken(run, space, rule)


def _doubtful(run: _Run, space: Space, typed: dict[str, Any]) -> set[str]:
    """Return the options that were meant, but misspelt or given a wrong value: rules about them only echo that."""
    out = set()
    for key in run.options:
        name = key.removeprefix(space.prefix)
        if not key.startswith(space.prefix) or name in typed:
            continue
        known = name if space.document.spec(name) else suggest(name, space.document.options)
        if known is not None:
            out.add(known)
    return out


def _broken(run: _Run, space: Space, rule: Rule) -> None:
    """Report a rule that does not hold, at the first of its options that is written."""
    keys = [space.prefix + name for name in rule.at]
    key = next((k for k in keys if k in run.options), keys[0] if keys else "")
    text = run.options.get(key)
    value = mask(key, text.value) if text else ""
    message = rule.message.replace("{key}", key).replace("{value}", value)
    # A rule about a value points at it, one about options at the key.
    span = (text.value_span if "{value}" in rule.message else text.key_span) if text else run.where
    run.bag.error(rule.code, message, span, rule.help)


def _unknown(run: _Run) -> None:
    for key, text in run.options.items():
        if key not in run.consumed:
            hints.unknown_option(key, text, run.document, run.spaces, run.bag)


def _notes(run: _Run) -> None:
    """Say what an accepted option does not do here; refuse what can not be done."""
    for space in run.spaces:
        for key, text in run.options.items():
            spec = space.document.spec(key[len(space.prefix) :]) if key.startswith(space.prefix) else None
            if spec and run.role in spec.roles:
                _note(key, text, spec, run.bag)


def _note(key: str, text: OptionText, spec: OptionSpec, bag: Bag) -> None:
    if spec.use == "refused":
        bag.error("FD224", f"'{key}' can not be had here: {spec.note}", text.key_span, "remove the option")
    elif spec.use == "ignored" and spec.key != "property-version":
        bag.note("FD225", f"'{key}' has no effect here: {spec.note}", text.key_span)
    if spec.instead:
        bag.warning("FD226", f"'{key}' is deprecated", text.key_span, f"write '{spec.instead}' instead")


def _with_defaults(document: Document, typed: dict[str, Any]) -> dict[str, Any]:
    return {key: spec.default for key, spec in document.options.items()} | typed


def _format_options(
    space: Space | None, typed: Mapping[str, dict[str, Any]], topic: str | None
) -> FormatOptions | None:
    if space is None:
        return None
    own = typed[space.prefix]
    options = _with_defaults(space.document, own)
    if topic and "subject" in options:
        # Flink completes the subject of a sink with one topic; prefix and role say which side this is.
        options["subject"] = own.get("subject") or f"{topic}-{'key' if space.key == 'key.format' else 'value'}"
    return FormatOptions(
        space.document.name, space.key, space.prefix, options, frozenset(own), space.document.changelog
    )


def _properties(run: _Run, own: Mapping[str, Any]) -> dict[str, str]:
    if run.document.of_topics:
        start = run.document.options.get("scan.startup.mode")
        mode = own.get("scan.startup.mode", start.default if start else "earliest-offset")
        return kafka_properties.resolve(run.options, run.role, mode, run.bag)
    prefix = kafka_properties.PREFIX
    return {k[len(prefix) :]: t.value for k, t in run.options.items() if k.startswith(prefix)}
