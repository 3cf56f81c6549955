"""Addressed: whom a call names is looked up, created where it says so, or refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers

from campaigns.audiences.audience import Audience
from campaigns.runs.messages.accepting import Accepted, Revoked, UnknownRecipient, accept, confirm
from campaigns.runs.messages.bulk_messages import AT_ONCE, accept_many, members
from notifications.api.base import authentication
from notifications.api.base.view import ApiView
from notifications.people.contact import Contact
from notifications.people.registry import Person, upsert
from notifications.staff import audit
from notifications.staff.subjects import Subject

EVERY_PERSON = Subject("contact")
MAX_NAMED = 20
UNKNOWN = {
    "to.contact": "There is no such person in this project; write them first, "
    'or give "create": true.',
    "to.device": "There is no such active device in this project; register it first.",
}
NOT_ONE = 'There is no person “{name}” in this project; write them first, or give "create": true.'
NO_LIST = "There is no static list {list} in this project."
UNFINISHED = "This list is still being filled. Try again in a moment."
EMPTY = "There is nobody on this list."


@contextmanager
def as_the_key_may(view: ApiView) -> Iterator[None]:
    """It may have been revoked since the call came, or since it was remembered."""
    try:
        yield
    except Revoked as error:
        authentication.forget(view.key)
        raise authentication.no_such_key() from error


def accept_each(view: ApiView, calls: list[dict[str, Any]]) -> list[Accepted | UnknownRecipient]:
    """To one person or device each. Who is unknown and may be created is, with their message: both
    are there, or neither."""
    answers = accept(view.key, calls)
    new = [
        place
        for place, answer in enumerate(answers)
        if isinstance(answer, UnknownRecipient) and "person" in calls[place]
    ]
    if new:
        with transaction.atomic():
            create(view, [calls[place]["person"] for place in new])
            again = accept(view.key, [calls[place] for place in new])
        answers = [*answers]
        for place, answer in zip(new, again, strict=True):
            answers[place] = answer
    return answers


def accept_call(view: ApiView, one: dict[str, Any]) -> Accepted:
    """One message, to one or to many. Raises ValidationError; then nothing was stored."""
    to = one["to"]
    if "contacts" in to:
        with transaction.atomic():
            confirm(view.key)
            return accept_many(view.project.pk, one, _contact_ids(view, one))
    if "list" in to:
        with transaction.atomic():
            confirm(view.key)
            return _accept_for_list(view, one)
    (answer,) = accept_each(view, [one])
    if isinstance(answer, UnknownRecipient):
        raise serializers.ValidationError({answer.field: UNKNOWN[answer.field]})
    return answer


def create(view: ApiView, people: list[Person]) -> dict[str, int]:
    """Their numbers, by external id."""
    written = upsert(view.project, people, by=view.actor, now=timezone.now())
    counts: dict[str, Any] = {"created": len(written.created), "updated": 0, "rejected": 0}
    audit.record(view.actor, "wrote", EVERY_PERSON, project=view.project, **counts)
    return written.ids


def _contact_ids(view: ApiView, message: dict[str, Any]) -> list[int]:
    """Once each, in the order of the call."""
    names = message["to"]["contacts"]
    known = _known_ids(view, names)
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown and message["create"]:
        known |= create(view, [Person(name) for name in unknown])
    elif unknown:
        problems = [(names.index(name), NOT_ONE.format(name=name)) for name in unknown[:MAX_NAMED]]
        raise serializers.ValidationError({"to": {"contacts": _problems_by_index(problems)}})
    return [known[name] for name in dict.fromkeys(names)]


def _known_ids(view: ApiView, names: Iterable[str]) -> dict[str, int]:
    contacts = Contact.objects.filter(project=view.project, external_id__in=set(names))
    return dict(contacts.values_list("external_id", "pk"))


def _problems_by_index(problems: list[tuple[int, str]]) -> dict[Any, Any]:
    return {index: {"": words} for index, words in problems}


def _accept_for_list(view: ApiView, message: dict[str, Any]) -> Accepted:
    """A long list has its first member's row at once; a worker writes those of the others."""
    pk = message["to"]["list"]
    lists = Audience.objects.filter(project=view.project, kind=Audience.Kind.LIST)
    static_list = lists.select_for_update(no_key=True).filter(pk=pk).first()  # or it may be deleted
    if static_list is None:
        raise serializers.ValidationError({"to": {"list": NO_LIST.format(list=pk)}})
    if static_list.filling is not None:
        raise serializers.ValidationError({"to": {"list": UNFINISHED}})
    people = members(pk, most=AT_ONCE + 1)
    if not people:
        raise serializers.ValidationError({"to": {"list": EMPTY}})
    if len(people) > AT_ONCE:
        return accept_many(view.project.pk, message, people[:1], list_id=pk)
    return accept_many(view.project.pk, message, people)
