"""Imports a test starts from: a file uploaded in parts, mapped as guessed, worked on to its end."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from notifications import imports
from notifications.people.importing import columns
from notifications.people.importing.model import Import
from notifications.people.project import Project

BY = "user:ada"


def upload(
    project: Project, content: str | bytes, *, name: str = "people.csv", part: int = 1024**2
) -> Import:
    """All of its bytes are there, and it was looked at."""
    written = content.encode() if isinstance(content, str) else content
    one = imports.begin(project, name=name, size=len(written), by=BY)
    for number, at in enumerate(range(0, len(written), part)):
        imports.add_part(one, number, written[at : at + part])
    imports.complete(one)
    return one


def mapped(one: Import, *, mode: str = "add", resubscribe: bool = False, **told: Any) -> Import:
    """As guessed, with what is told of some columns by their head."""
    guessed = columns.columns_of(one)
    mapping = columns.from_pairs(one.sniffed["head"], guessed, told)
    imports.set_mapping(one, mapping, mode=mode, resubscribe=resubscribe)
    return one


def work(one: Import) -> Import:
    """Until nothing is left to do."""
    for _ in range(20):
        if not imports.work(one.pk, seconds=10):
            break
    one.refresh_from_db()
    return one


def check(one: Import) -> Import:
    imports.check(one, by=BY)
    return work(one)


def merge(one: Import) -> Import:
    imports.start(one, by=BY, now=timezone.now())
    return work(one)


def bring_in(
    project: Project, content: str | bytes, *, name: str = "people.csv", mode: str = "add",
    resubscribe: bool = False, **told: Any,
) -> Import:  # fmt: skip
    """The whole way."""
    one = upload(project, content, name=name)
    assert one.state == Import.State.READY, one.problem
    return merge(mapped(one, mode=mode, resubscribe=resubscribe, **told))


def reasons(one: Import) -> dict[int, tuple[str, str]]:
    """Column and reason of each refused row, by line."""
    return {each.line: (each.column, each.in_words) for each in one.refusals.all()}
