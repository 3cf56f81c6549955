"""Problem: what is wrong with a tree of rules, and where. It can be shown without parsing it."""

from __future__ import annotations

from dataclasses import dataclass

# From the root, what is gone through: the word of a group and the index in it, or “not”.
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """The words are for who asked, in their language."""

    said: str
    path: Path = ()
    part: str = ""  # field, op or value of a rule; all or any of a group

    @property
    def node(self) -> str:
        """`rules.all[1].not`, as the API and the builder name it."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"rules{''.join(steps)}"

    @property
    def number(self) -> str:
        """“2.1”, as a person counts the rules; empty for the whole tree."""
        return ".".join(str(step + 1) for step in self.path if isinstance(step, int))

    def __str__(self) -> str:
        place = f"{self.node}.{self.part}" if self.part else self.node
        return f"{place}: {self.said}"
