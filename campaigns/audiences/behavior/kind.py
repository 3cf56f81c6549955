"""Kind: the interface of a kind of rule: validation, SQL, words and explanation.

Other modules handle the tree around it: groups, depth and places (`rules.py`), the statement
(`selection.py`), the sentence (`words.py`), and “why is this person in?” (`why.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# A row that a rule names, and the names of these rows. A run has the name of its campaign.
Named = tuple[str, int]  # "audience", "campaign" or "run", and the row's id
Names = dict[Named, str]


@dataclass(frozen=True)
class Sql:
    """A piece of an SQL statement, and its parameters."""

    sql: str
    params: list[Any] = field(default_factory=list)


def _names_nothing(value: Any) -> list[Named]:
    return []


def _saw_nothing(op: str, value: Any) -> Sql:
    return Sql("NULL::text")


def _as_it_is(seen: str, zone: str) -> str:
    return seen


@dataclass(frozen=True)
class Kind:
    """A kind of rule. Its functions get the op and the value of a rule.

    All but `problem` and `names` may rely on `problem` having accepted them.
    """

    # The operators, each with its opposite: “not (did)” reads “did not”.
    ops: dict[str, str]
    # What is wrong with the value, as a sentence; empty if it is valid. The value may be any JSON:
    # check sizes before contents.
    problem: Callable[[str, Any], str]
    # A condition over `c` (contact) and `d` (device or NULL) that is true or false, never NULL.
    # Write a negative as NOT EXISTS: PostgreSQL makes joins of both.
    sql: Callable[[str, Any], Sql]
    # The whole clause, e.g. “did buy at least 2 times within the last 30 days”.
    words: Callable[[str, Any, Names], str]
    # SQL of what it found for a person, as text; then that text in words, for the project's time
    # zone.
    seen: Callable[[str, Any], Sql] = _saw_nothing
    shown: Callable[[str, str], str] = _as_it_is
    # The rows that the words name; must accept any value.
    names: Callable[[Any], list[Named]] = _names_nothing
    # Keys of the value that the server sets; users may not save them.
    kept: tuple[str, ...] = ()
    # Whether it reads other tables: only a limited number fits into one statement (`bounds.py`).
    costly: bool = False
