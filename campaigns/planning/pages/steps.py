"""Campaign steps: the four steps as a rail, which are current or done, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning import local
from campaigns.planning.campaign import Campaign
from campaigns.planning.pages import variant_fields as variants
from campaigns.runs import policy

WHO, WHAT, WHEN, REVIEW = "who", "what", "when", "review"
CHOSEN: dict[str, tuple[str, ...]] = {
    WHO: ("project", "name", "audience_from", "audience", "rules"),
    WHAT: ("template_from", "template", "title", "body", "image", "link", *variants.FIELDS),
}
FIELDS: dict[str, tuple[str, ...]] = {
    step: (*CHOSEN.get(step, ()), *policy.of_step(step)) for step in (WHO, WHAT, WHEN, REVIEW)
}
# CSS classes (campaign.css) of fields that are shown only while another field has some value.
SHOWN_IF = {
    "audience": "c-if-audience-picked", "rules": "c-if-audience-made",
    "template": "c-if-template-picked", "title": "c-if-template-made",
    "body": "c-if-template-made", "image": "c-if-template-made", "link": "c-if-template-made",
    **{setting.field: setting.shown_if for setting in policy.SETTINGS},
}  # fmt: skip
RARE = {setting.field for setting in policy.SETTINGS if setting.rare}  # under “More”
TITLES = {
    WHO: (gettext_lazy("Who"), gettext_lazy("the people")),
    WHAT: (gettext_lazy("What"), gettext_lazy("the text")),
    WHEN: (gettext_lazy("When"), gettext_lazy("time and pace")),
    REVIEW: (gettext_lazy("Review"), gettext_lazy("check, then launch")),
}


@dataclass(frozen=True)
class Step:
    name: str
    number: int
    current: bool
    wrong: bool
    missing: str  # what is still to do there; empty: complete
    passed: bool  # the user has seen it, and gone on
    launched: bool

    @property
    def title(self) -> str:
        return str(TITLES[self.name][0])

    @property
    def about(self) -> str:
        if self.launched and self.name == REVIEW:
            return _("launched")
        return str(TITLES[self.name][1])

    @property
    def is_done(self) -> bool:
        """Complete and seen: “now” is complete before anybody has read the question."""
        return not self.missing and not self.wrong and (self.launched or self.passed)


def rail(
    campaign: Campaign | None, form: Any, opened: str, furthest: int, now: datetime
) -> list[Step]:
    """The steps of the rail. `furthest`: the number of the last step that this user has seen."""
    missing = {name: _missing(campaign, name, now) for name in FIELDS}
    wrong = {name for name in FIELDS if set(FIELDS[name]) & set(form.errors)}
    current = _current(campaign, opened, wrong, missing)
    launched = campaign is not None and campaign.current_run() is not None
    last_seen = max(furthest, [*FIELDS].index(current) + 1)
    return [
        Step(
            name,
            number,
            name == current,
            name in wrong,
            missing[name],
            number < last_seen,
            launched,
        )
        for number, name in enumerate(FIELDS, start=1)
    ]


def _current(
    campaign: Campaign | None, requested: str, wrong: set[str], missing: dict[str, str]
) -> str:
    """The first step with errors; else the requested one; else the first that is incomplete."""
    for name in FIELDS:
        if name in wrong:
            return name
    if requested in FIELDS and campaign is not None:
        return requested
    return next((name for name in FIELDS if missing[name]), REVIEW)


def following(name: str) -> str:
    names = list(FIELDS)
    return names[min(names.index(name) + 1, len(names) - 1)] if name in names else REVIEW


def _missing(campaign: Campaign | None, name: str, now: datetime) -> str:
    if campaign is None:
        return _("not yet") if name != REVIEW else ""
    if name == WHO:
        return _find_problem(campaign.audience)
    if name == WHAT:
        template = campaign.template
        return _find_problem(template) if template.title or template.body else _("no text yet")
    return _find_time_problem(campaign, now) if name == WHEN else ""


def _find_problem(row: Any) -> str:
    try:
        row.clean()
    except ValidationError as error:
        return error.messages[0]
    return ""


def _find_time_problem(campaign: Campaign, now: datetime) -> str:
    kind = campaign.schedule_kind
    if kind == Campaign.Schedule.AT and local.is_over(campaign, now):
        return "" if campaign.current_run() else _("the time has passed")
    if kind == Campaign.Schedule.RECURRING and not campaign.coming(now, 1):
        ended = campaign.until is not None and campaign.until <= now
        return _("its end has passed") if ended else _("none of its times is left")
    return ""
