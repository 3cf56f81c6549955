"""Audience queries: how many people match the rules in the form, who they are, and why."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Max, Min
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.audiences import estimating, last_seen, reach
from campaigns.audiences.audience import Audience, validate_rules
from campaigns.audiences.bounds import leaves
from campaigns.audiences.problem import Problem
from campaigns.audiences.rules import everyone
from campaigns.audiences.selection import sample
from campaigns.audiences.why import emptied, verdict
from campaigns.audiences.words import label_of, sentence
from campaigns.launch_check import warnings
from notifications.admin.ui.current_project import named
from notifications.admin.ui.json_field import JSONText
from notifications.admin.ui.keyset import row_id
from notifications.people.attributes import in_words, types_of
from notifications.people.consent import eligibility
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres.budget import Busy, TooSlow, slow_query_slot, statement_timeout

PreviewPart = Callable[[Project, Any, QueryDict], dict[str, Any]]
SHOWN_VALUES = 3
ASKING_SECONDS = 2.0
EARLY = "early"
# An audience has no category, so count who could get a campaign without one.
MARKETING = eligibility.skip_reason_params("", "")


@dataclass(frozen=True)
class RuleProblem:
    """A problem in the rules: a text for people, and the place for the builder to mark."""

    words: str
    path: str = ""
    short: str = ""  # beside the rule itself

    def __str__(self) -> str:
        return self.words


def early(error: ValidationError) -> bool:
    """Whether the rules are only unfinished, not wrong."""
    return getattr(error, "code", None) == EARLY


def problems(error: ValidationError) -> list[RuleProblem]:
    by_field = getattr(error, "error_dict", {"": getattr(error, "error_list", [])})
    return [_describe_error(problem) for errors in by_field.values() for problem in errors]


def _describe_error(error: ValidationError) -> RuleProblem:
    problem: Any = error.message
    if not isinstance(problem, Problem):
        return RuleProblem(error.messages[0])
    part, short, number = problem.part, problem.words, problem.number
    names = {"field": _("field"), "op": _("comparison"), "value": _("value")}
    if not number:
        text = str(problem)
    elif part in names:
        pattern = _("Rule {number}, {part}: {problem}")
        text = pattern.format(number=number, part=names[part], problem=short)
    else:
        text = _("Rule {number}: {problem}").format(number=number, problem=short)
    return RuleProblem(text, problem.node, short)


def read_rules(request: HttpRequest) -> tuple[Project, Any]:
    """The project and the rules in the form. Raises ValidationError with what is missing."""
    posted, project = request.POST, named(request)
    if project is None:
        raise ValidationError(_("Choose a project first."), EARLY)
    saved = Audience.objects.filter(project=project, pk=row_id(posted.get("audience")) or 0).first()
    if posted.get("kind") == Audience.Kind.LIST or (saved and saved.kind == Audience.Kind.LIST):
        if saved is None:
            raise ValidationError(_("Save the list first; then it can be counted."), EARLY)
        return project, saved.effective_rules
    if "rules" not in posted and saved:  # the user may view but not change
        return project, saved.effective_rules
    tree = JSONText(required=False, empty=everyone).clean(posted.get("rules", ""))
    validate_rules(tree, project_id=project.pk, of=saved.pk if saved else None)
    return project, tree


def preview_context(project: Project, tree: Any, posted: QueryDict) -> dict[str, Any]:
    reached = reach.quick(project.pk, tree, asks=MARKETING)
    saved = Audience.objects.filter(project=project, pk=row_id(posted.get("audience")) or 0).first()
    if saved is not None and saved.effective_rules == tree:
        # The rules as stored: a browser writes the same rules in another order.
        saved.keep_size(reached, saved.effective_rules, timezone.now())
    return {
        "said": sentence(tree, project_id=project.pk),
        "reach": reached,
        "doubts": warnings.of_rules(project.pk, tree),
        **_by_person(project, tree),
        **(_people(project, tree) if reached.people else _nobody(project, tree, reached)),
    }


def _nobody(project: Project, tree: Any, reached: reach.Reach) -> dict[str, Any]:
    """The rule that excludes everybody. Not for an estimated 0, which may be wrong."""
    if not reached.exact:
        return {}
    try:
        with statement_timeout(seconds=estimating.PART_SECONDS):
            return {"emptied": emptied(project.pk, tree)}
    except TooSlow:
        return {}


def _by_person(project: Project, tree: Any) -> dict[str, Any]:
    """The count if rules about devices not seen lately were about people; else empty."""
    if not last_seen.asks_devices(tree):
        return {}
    return {"by_person": reach.quick(project.pk, last_seen.asking_people(tree))}


def size(audience: Audience, *, imported: str = "") -> dict[str, Any]:
    """The last count, for the audience's row in the list. `imported`: end of the last import."""
    known, now = audience.known_size, timezone.now()
    if known is None:
        return {"audience": audience, "size": None}
    at = datetime.fromisoformat(known["at"])
    return {
        "audience": audience,
        "size": {**known, "age": now - at, "before_import": known["at"] < imported},
    }


def counted_anew(audience: Audience) -> dict[str, Any]:
    """Count the audience now, and return the same as `size`."""
    try:
        with slow_query_slot(audience.project_id):
            reached = reach.exact(audience.project_id, audience.effective_rules)
    except Busy:
        return size(audience) | {"busy": True}
    except ValidationError as error:
        return size(audience) | {"problem": error.messages[0]}
    audience.keep_size(reached, audience.effective_rules, timezone.now())
    return size(audience)


def others(project: Project, tree: Any, posted: QueryDict) -> dict[str, Any]:
    """Ten other people who match, from a random place."""
    ends = Contact.objects.filter(project=project).aggregate(first=Min("pk"), last=Max("pk"))
    start = random.randint(ends["first"], ends["last"]) if ends["first"] else None
    return _people(project, tree, start=start)


def about_one(project: Project, tree: Any, posted: QueryDict) -> dict[str, Any]:
    external_id = posted.get("person", "").strip()
    if not external_id:
        raise ValidationError(_("Type the person's external id."))
    try:
        contact = Contact.objects.get(project=project, external_id=external_id)
        with reach.uncountable(), statement_timeout(seconds=ASKING_SECONDS):
            return {"asked": external_id, "verdict": verdict(contact, tree)}
    except Contact.DoesNotExist:
        return {"asked": external_id, "verdict": None}


def _people(project: Project, tree: Any, *, start: int | None = None) -> dict[str, Any]:
    try:
        with statement_timeout(seconds=0.2):
            # If nobody matches after `start`, take people from the beginning.
            people = sample(project.pk, tree, start=start) or sample(project.pk, tree)
    except TooSlow:
        return {"people": [], "too_slow": True}
    types = types_of(project.pk)
    return {
        "people": [
            (contact, _attributes_of(contact, tree, types, project.timezone)) for contact in people
        ]
    }


def _attributes_of(
    contact: Contact, tree: Any, types: Mapping[str, str], zone: str
) -> list[tuple[str, str]]:
    """The attributes that the rules check; without rules, the first known ones."""
    names = dict.fromkeys(leaf["field"] for leaf in leaves(tree) if "." in leaf["field"])
    fields = [name.removeprefix("attributes.") for name in names] or sorted(contact.attributes)
    pairs = [(name, contact.attributes.get(name)) for name in fields]
    lines = [
        (label_of(name), in_words(value, types.get(name, ""), zone))
        for name, value in pairs
        if value not in (None, "")
    ]
    return lines[:SHOWN_VALUES]
