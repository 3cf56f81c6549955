"""FCM's answers to the requests for one person that it did not accept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from campaigns.runs.ledger import Answer
from notifications.people.contact import Contact


def answers_to(run_id: int, seqs: list[int]) -> dict[int, list[Answer]]:
    """The answers by recipient number, in the order they came."""
    by_seq: dict[int, list[Answer]] = defaultdict(list)
    for answer in Answer.objects.filter(run_id=run_id, seq__in=seqs).order_by("seq", "attempt"):
        by_seq[answer.seq].append(answer)
    return by_seq


def answers_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """All answers to requests for a person, in all runs."""
    theirs = Answer.objects.filter(contact_id=contact.pk).order_by("run_id", "seq", "attempt")
    return (answer_json(answer) for answer in theirs.iterator())


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as an export shows it."""
    names = ("at", "http", "code", "verdict", "reason", "may_have_arrived", "detail")
    return {
        "run": answer.run_id,
        "seq": answer.seq,
        **{name: getattr(answer, name) for name in names},
    }
