"""Questions about what stands in an audience's form, saved or not: how many, who, and why."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Max, Min
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from campaigns.audiences import reach
from campaigns.audiences.audience import Audience, validate_rules
from campaigns.audiences.bounds import leaves
from campaigns.audiences.problem import Problem
from campaigns.audiences.rules import FIELDS, everyone
from campaigns.audiences.selection import sample
from campaigns.audiences.why import verdict
from campaigns.audiences.words import label_of, sentence
from campaigns.planning.launch_check import doubts
from notifications.admin.furniture.chosen import named
from notifications.admin.furniture.json_field import JSONText
from notifications.admin.furniture.keyset import row_id
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow, within

About = Callable[[Project, Any, QueryDict], dict[str, Any]]
SHOWN_VALUES = 3
ASKING_SECONDS = 2.0
EARLY = "early"


@dataclass(frozen=True)
class RuleProblem:
    """What is wrong with the rules, and where: for people, and for the builder to mark it."""

    said: str
    path: str = ""
    short: str = ""  # beside the rule itself

    def __str__(self) -> str:
        return self.said


def early(error: ValidationError) -> bool:
    """Nothing is wrong, it was only asked too soon."""
    return getattr(error, "code", None) == EARLY


def problems(error: ValidationError) -> list[RuleProblem]:
    by_field = getattr(error, "error_dict", {"": getattr(error, "error_list", [])})
    return [_said(one) for errors in by_field.values() for one in errors]


def _said(error: ValidationError) -> RuleProblem:
    problem: Any = error.message
    if not isinstance(problem, Problem):
        return RuleProblem(error.messages[0])
    part, short, number = problem.part, problem.said, problem.number
    names = {"field": _("field"), "op": _("comparison"), "value": _("value")}
    if not number:
        said = str(problem)
    elif part in names:
        pattern = _("Rule {number}, {part}: {problem}")
        said = pattern.format(number=number, part=names[part], problem=short)
    else:
        said = _("Rule {number}: {problem}").format(number=number, problem=short)
    return RuleProblem(said, problem.node, short)


def asked(request: HttpRequest) -> tuple[Project, Any]:
    """The project and the rules in the form. ValidationError says what is missing."""
    posted, project = request.POST, named(request)
    if project is None:
        raise ValidationError(_("Choose a project first."), EARLY)
    saved = Audience.objects.filter(project=project, pk=row_id(posted.get("audience")) or 0).first()
    if posted.get("kind") == Audience.Kind.LIST or (saved and saved.kind == Audience.Kind.LIST):
        if saved is None:
            raise ValidationError(_("Save the list first; then it can be counted."), EARLY)
        return project, saved.effective_rules
    if "rules" not in posted and saved:  # somebody who may look, but not change
        return project, saved.effective_rules
    tree = JSONText(required=False, empty=everyone).clean(posted.get("rules", ""))
    validate_rules(tree, project_id=project.pk)
    return project, tree


def counted(project: Project, tree: Any, posted: QueryDict) -> dict[str, Any]:
    found = reach.quick(project.pk, tree)
    return {
        "said": sentence(tree, project_id=project.pk),
        "reach": found,
        "doubts": doubts.of_rules(project.pk, tree),
        **(_people(project, tree) if found.people else {}),
    }


def others(project: Project, tree: Any, posted: QueryDict) -> dict[str, Any]:
    """Ten people from somewhere else among them."""
    ends = Contact.objects.filter(project=project).aggregate(first=Min("pk"), last=Max("pk"))
    start = random.randint(ends["first"], ends["last"]) if ends["first"] else None
    return _people(project, tree, start=start)


def about_one(project: Project, tree: Any, posted: QueryDict) -> dict[str, Any]:
    external_id = posted.get("person", "").strip()
    if not external_id:
        raise ValidationError(_("Type the external id of the person you ask about."))
    try:
        contact = Contact.objects.get(project=project, external_id=external_id)
        with reach.uncountable(), within(seconds=ASKING_SECONDS):
            return {"asked": external_id, "verdict": verdict(contact, tree)}
    except Contact.DoesNotExist:
        return {"asked": external_id, "verdict": None}


def _people(project: Project, tree: Any, *, start: int | None = None) -> dict[str, Any]:
    try:
        with within(seconds=0.2):
            # Few rules, many people: the oldest may be all there are after `start`.
            people = sample(project.pk, tree, start=start) or sample(project.pk, tree)
    except TooSlow:
        return {"people": [], "too_slow": True}
    return {"people": [(person, _shown(person, tree)) for person in people]}


def _shown(person: Contact, tree: Any) -> list[tuple[str, Any]]:
    """What the rules asked about them; without rules, the first things known."""
    names = dict.fromkeys(leaf["field"] for leaf in leaves(tree) if leaf["field"] not in FIELDS)
    asked = [name.removeprefix("attributes.") for name in names] or sorted(person.attributes)
    found = [(name, person.attributes.get(name)) for name in asked]
    said = [(label_of(name), _text(value)) for name, value in found if value not in (None, "")]
    return said[:SHOWN_VALUES]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return _("true") if value is True else _("false") if value is False else str(value)
