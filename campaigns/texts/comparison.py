"""Comparing two versions of a template, and merging two people's changes to it.

A content is compared leaf by leaf, such as (“locales”, “ko”, “title”). So a change of the Korean
title does not conflict with a change of the German one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from campaigns.texts.content import TEXTS

Path = tuple[str, ...]
# The fields in the order of the forms.
IN_ORDER = ("name", "text", *TEXTS, "buttons", "data", "options", "locales")
Leaves = dict[Path, Any]
WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text that stayed, was removed or was added."""

    kind: str  # same, gone, new
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One leaf that differs between two versions. None: the version does not have it."""

    path: Path
    before: Any
    after: Any

    @property
    def pieces(self) -> list[Piece]:
        return _pieces(_as_text(self.before), _as_text(self.after))


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of merging two people's changes, and the leaves that both of them changed."""

    content: dict[str, Any]
    taken: list[Change]  # their changes, which are in the content
    disputed: list[Change]  # `before` is what I wrote and keep, `after` what they wrote


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    old, new = leaves(before), leaves(after)
    return [
        Change(path, old.get(path), new.get(path))
        for path in _in_order(old, new)
        if old.get(path) != new.get(path)
    ]


def merge(base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Merged:
    """Add to mine what only they changed since `base`. If both changed a leaf, mine stays.

    Only the fields in `mine` are merged, in that order. A field of mine that could not be read is
    not in it, so nothing is decided about it.
    """
    old, own, new = (leaves(side, mine) for side in (base, mine, theirs))
    taken, disputed = [], []
    result = dict(own)
    for path in _in_order(old, own, new, names=mine):
        base_value, own_value, their_value = old.get(path), own.get(path), new.get(path)
        if their_value in (base_value, own_value):
            continue
        if own_value != base_value:
            disputed.append(Change(path, own_value, their_value))
            continue
        taken.append(Change(path, own_value, their_value))
        if their_value is None:
            del result[path]
        else:
            result[path] = their_value
    return Merged({**_empty(mine), **_rebuild(result)}, taken, disputed)


def leaves(content: Mapping[str, Any], names: Iterable[str] = IN_ORDER) -> Leaves:
    """Every value that is not an object, by its path; an empty object is a value, too."""
    leaf_values: Leaves = {}
    for name in names:
        if name in content:
            _collect(leaf_values, (name,), content[name])
    return leaf_values


def _collect(leaf_values: Leaves, path: Path, value: Any) -> None:
    if value == []:  # like a content from before there were buttons
        return
    if not isinstance(value, dict):
        leaf_values[path] = value
    elif value:
        for key, inner in value.items():
            _collect(leaf_values, (*path, str(key)), inner)
    elif len(path) > 1:
        leaf_values[path] = value


def _in_order(*sides: Leaves, names: Iterable[str] = IN_ORDER) -> list[Path]:
    """The paths in the order of the form, also within each language."""
    places = {name: f"{number:02}" for number, name in enumerate(names)}
    paths = {path for side in sides for path in side}
    return sorted(paths, key=lambda path: [places.get(name, name) for name in path])


def _empty(content: Mapping[str, Any]) -> dict[str, Any]:
    kinds = ((name, type(value)) for name, value in content.items())
    return {name: kind() for name, kind in kinds if kind in (dict, list)}


def _rebuild(leaf_values: Leaves) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for path in sorted(leaf_values, key=len):  # an empty object before the values in it
        inner = content
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = leaf_values[path]
    return content


def _as_text(value: Any) -> str:
    if value is None or value == {}:
        return ""
    return value if isinstance(value, str) else str(value)


def _pieces(before: str, after: str) -> list[Piece]:
    """Compare two texts word by word; removed words go before those that replace them."""
    old, new = WORDS.findall(before), WORDS.findall(after)
    pieces = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(old[a:b])))
            continue
        removed, added = "".join(old[a:b]), "".join(new[c:d])
        pieces += [Piece(kind, text) for kind, text in (("gone", removed), ("new", added)) if text]
    return pieces
