"""What may stand at the cursor: keywords, tables, columns, functions, options and their values.

No terminal here: a text before and after the cursor and a catalog go in, candidates come out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.cli.shell import vocabulary as words
from flinkddl.cli.shell.candidates import Candidate, matching, quoted_name
from flinkddl.cli.shell.options import option_candidates, setting_candidates
from flinkddl.cli.shell.scope import Scope, anywhere, columns_of, scope_of
from flinkddl.cli.shell.split import split
from flinkddl.dialect import tokens as t
from flinkddl.dialect.words import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.catalog.state import Catalog
    from flinkddl.dialect.tokens import Token


def complete(before: str, after: str, catalog: Catalog, jobs: Sequence[tuple[str, str]] = ()) -> list[Candidate]:
    """Return what may be put in at the cursor; ``jobs`` are ids and names for STOP JOB and DESCRIBE JOB."""
    text = split(before).rest.lstrip()
    place = _place(text)
    if place is None:
        return []
    tokens, fragment, quote = place
    keys = [token.key for token in tokens]
    if quote == "'":
        return _in_string(tokens, keys, fragment, after, catalog, jobs)
    if (found := option_candidates(tokens, None, after, catalog)) is not None:
        return found if not fragment else matching(fragment, found, strip="'")
    if not keys:
        return matching(fragment, [Candidate(w, "") for w in STATEMENTS], case=fragment)
    return _words(text[: len(text) - len(quote + fragment)], after, tokens, fragment, quote, catalog)


def _place(text: str) -> tuple[list[Token], str, str] | None:
    """Return the tokens before the word at the cursor, that word, and the quotation mark that it is in."""
    hint = text.rfind("/*+")
    if hint > text.rfind("*/"):
        text = text[:hint] + "   " + text[hint + 3 :]  # the inside of a hint that is being written
    lexed = t.lex(text)
    if any(a < len(text) <= b and not text.endswith("\n") for a, b in lexed.comments):
        return None
    tokens = lexed.tokens[:-1]
    if any(f.code == "FD103" for f in lexed.faults):
        last = tokens[-1] if tokens else None
        if last is None or last.text[:1] not in "'`" or last.end < len(text.rstrip("; ")):
            return None
        return tokens[:-1], text[last.start + 1 :], last.text[0]
    if tokens and tokens[-1].end == len(text) and tokens[-1].kind == t.WORD:
        return tokens[:-1], tokens[-1].text, ""
    if tokens and tokens[-1].end == len(text) and tokens[-1].kind in (t.STRING, t.NUMBER, t.NAME):
        return None
    return tokens, "", ""


def _in_string(
    tokens: list[Token], keys: list[str], fragment: str, after: str, catalog: Catalog, jobs: Iterable[tuple[str, str]]
) -> list[Candidate]:
    if keys[:1] in (["SET"], ["RESET"]):
        return setting_candidates(tokens, fragment, after)
    if keys[:2] in (["STOP", "JOB"], ["DESCRIBE", "JOB"], ["DESC", "JOB"]) and len(keys) == 2:
        found = [Candidate(id, name) for id, name in jobs]
        return [Candidate(c.text + "'", c.meta, len(fragment), c.text) for c in matching(fragment, found)]
    return option_candidates(tokens, fragment, after, catalog) or []


def _words(text: str, after: str, tokens: list[Token], fragment: str, quote: str, catalog: Catalog) -> list[Candidate]:
    """Names and keywords outside of strings; ``text`` is what stands before the word at the cursor."""
    keys = [token.key for token in tokens]
    whole = f"{text} {split(after).statements[0] if split(after).statements else after}"
    scope = scope_of(t.lex(whole).tokens, catalog)
    if keys[-1] == ".":
        return matching(fragment, _qualified(tokens, scope, catalog), quote=quote)
    if keys[-1] in words.BEFORE_TABLE or (keys[-1] == "," and _lists_tables(keys)):
        found = [Candidate(quoted_name(name), kind) for name, kind in scope.names(catalog)]
        extra = [Candidate(w, "") for w in words.after(keys[-1])]
        return matching(fragment, found, quote=quote) + matching(fragment, extra, case=fragment)
    phrase = words.phrase(keys)
    if phrase is not None:
        return matching(fragment, [Candidate(w, "") for w in phrase], case=fragment)
    if _at_type(keys):
        return matching(fragment, [Candidate(w, "type") for w in words.TYPES], case=fragment)
    columns = [Candidate(quoted_name(name), kind) for name, kind in scope.columns() or anywhere(catalog, fragment)]
    found = matching(fragment, columns, quote=quote)
    if keys[-2:] == ["DESCRIPTOR", "("] or quote:
        return found
    if not fragment:
        return found + [Candidate(w, "") for w in words.after(keys[-1])]
    found += matching(fragment, [Candidate(name, "alias") for name in scope.aliases])
    following = words.after(keys[-1])
    found = matching(fragment, [Candidate(w, "") for w in (*following, *words.MAIN)], case=fragment) + found
    found += matching(fragment, words.functions(), case=fragment)
    found += matching(fragment, [Candidate(w, "") for w in words.KEYWORDS], case=fragment)
    return _unique(found)


def _unique(found: Iterable[Candidate]) -> list[Candidate]:
    return list({c.text: c for c in reversed(list(found))}.values())[::-1]


def _qualified(tokens: list[Token], scope: Scope, catalog: Catalog) -> list[Candidate]:
    """After a dot: columns of an alias, tables of a database, databases of a catalog."""
    path: list[str] = []
    at = len(tokens) - 1
    while at > 0 and tokens[at].key == "." and tokens[at - 1].kind in (t.WORD, t.NAME):
        path.insert(0, tokens[at - 1].value)
        at -= 2
    before = tokens[at].key if at >= 0 else ""
    if len(path) == 1 and path[0] in scope.aliases and before not in words.BEFORE_TABLE:
        return [Candidate(quoted_name(name), kind) for name, kind in scope.aliases[path[0]]]
    if len(path) == 2:
        return [Candidate(quoted_name(n), "table") for n in catalog.names_in(*path)]
    entry = catalog.catalogs.get(path[0]) if path else None
    if entry is not None:
        return [Candidate(quoted_name(n), "database") for n in entry.databases]
    if path and catalog.database(catalog.current_catalog, path[0]) is not None:
        return [Candidate(quoted_name(n), "table") for n in catalog.names_in(catalog.current_catalog, path[0])]
    return [Candidate(quoted_name(n), k) for n, k in columns_of(catalog, tuple(path))]


def _lists_tables(keys: Sequence[str]) -> bool:
    """Whether a comma stands in a FROM list: the last clause word before it, outside of parentheses, is FROM."""
    depth = 0
    for key in reversed(keys[:-1]):
        depth += (key == ")") - (key == "(")
        if depth < 0:
            return False
        if depth == 0 and key in words.CLAUSES:
            return key == "FROM"
    return False


def _at_type(keys: Sequence[str]) -> bool:
    """Whether a type stands here: after ``CAST(x AS``, or after a column's name in CREATE TABLE."""
    if keys[-1] == "AS":
        depth = 0
        for i in range(len(keys) - 2, 0, -1):
            depth += (keys[i] == ")") - (keys[i] == "(")
            if depth < 0:
                return keys[i - 1] in {"CAST", "TRY_CAST"}
        return False
    if keys[0] != "CREATE" or "TABLE" not in keys or "WITH" in keys or keys.count("(") - keys.count(")") != 1:
        return False
    return len(keys) > 1 and keys[-2] in {"(", ","} and keys[-1] not in {"(", ",", "PRIMARY", "WATERMARK", "CONSTRAINT"}


__all__ = ["Candidate", "complete"]
