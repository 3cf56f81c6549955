"""Problem: what is wrong with a tree of rules, and where. Pages show it without parsing text."""

from __future__ import annotations

from dataclasses import dataclass

# The way from the root to a node: the key of a group and the index in it, or “not”.
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a tree of rules, in the language of the user."""

    words: str
    path: Path = ()
    part: str = ""  # field, op or value of a rule; all or any of a group

    @property
    def node(self) -> str:
        """The node as the API and the rule builder name it, e.g. `rules.all[1].not`."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"rules{''.join(steps)}"

    @property
    def number(self) -> str:
        """The node's number as people count, e.g. “2.1”; empty for the whole tree."""
        return ".".join(str(step + 1) for step in self.path if isinstance(step, int))

    def __str__(self) -> str:
        place = f"{self.node}.{self.part}" if self.part else self.node
        return f"{place}: {self.words}"
