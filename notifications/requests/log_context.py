"""Log context: what this process works on (task, run, chunk). Each JSON log line contains it.

It holds ids and short names, never a person's name. A worker's task sets it, or code that works on
one thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})

_at: ContextVar[Mapping[str, Any]] = ContextVar("at_work", default=NOTHING)


def current_context() -> Mapping[str, Any]:
    """Return the context. It is empty between tasks, and in processes without tasks."""
    return _at.get()


def set_context(**what: Any) -> None:
    """Replace the context. A worker calls this when a task begins and when it ends."""
    _at.set(what)


@contextmanager
def extended_context(**what: Any) -> Iterator[None]:
    """Add to the context inside the `with`."""
    token = _at.set({**_at.get(), **what})
    try:
        yield
    finally:
        _at.reset(token)
