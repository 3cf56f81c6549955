"""What this process is at: the task, the run, the chunk. Each line that it logs says so.

Ids and short names, never a person's; of a worker's task or of the code that works on one thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})

_at: ContextVar[Mapping[str, Any]] = ContextVar("at_work", default=NOTHING)


def at_work() -> Mapping[str, Any]:
    """Empty in between, and in a process that has no tasks."""
    return _at.get()


def is_at(**what: Any) -> None:
    """From now on, and nothing else; a worker says so at a task's begin and end."""
    _at.set(what)


@contextmanager
def working_on(**what: Any) -> Iterator[None]:
    """Beside what it is at already."""
    token = _at.set({**_at.get(), **what})
    try:
        yield
    finally:
        _at.reset(token)
