"""Campaign form in four steps: its template context, and the redirect after a save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning import rhythm_in_words
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_problems import STANDS
from campaigns.planning.pages import steps
from campaigns.planning.pages import variant_fields as variants
from campaigns.runs import series
from campaigns.runs.run import Run
from notifications.admin.ui.page import page_url
from notifications.people.events import reading
from notifications.values.moments import in_zone

SHOWN_STEPS = "shown_steps"  # session key: the last shown step of each campaign
MAX_REMEMBERED = 50  # campaigns
CONTROL = "control_percent"  # shown with the variants
RUN_STEPS: dict[str, Any] = {
    Run.State.PREPARING: gettext_lazy("Watch it"),
    Run.State.SENDING: gettext_lazy("Watch it"),
    Run.State.PAUSED: gettext_lazy("Decide: resume or cancel"),
    Run.State.FINISHED: gettext_lazy("See the result"),
}


def around(request: HttpRequest, form: Any, campaign: Campaign | None) -> dict[str, Any]:
    """Template context besides the fields themselves."""
    step_name = request.POST.get("_step") or request.GET.get("step", "")
    rail = steps.rail(campaign, form, step_name, _furthest(request, campaign), timezone.now())
    step = next(step for step in rail if step.current)
    if campaign is not None:
        _remember_step(request, campaign, step.number)
    context = {
        "rail": rail,
        "step": step,
        "next_step": steps.following(step.name),
        "steps": _lines_by_step(form),
        "event_names": _event_names(form),
        "variant_fields": _variant_fields(form),
        "variants_open": _has_variants(form),
        "just_saved": "saved" in request.GET,
    }
    return context if campaign is None else context | _run_context(campaign)


def _variant_fields(form: Any) -> list[Any]:
    """The main text's weight, each other text with its own, and the control group. Empty for users
    who only view."""
    if variants.WEIGHT not in form.fields:
        return []
    pairs = [(form[template], form[weight]) for _number, template, weight in variants.PAIRS]
    return [[form[variants.WEIGHT]], pairs, [form[CONTROL]]]


def _has_variants(form: Any) -> bool:
    """Whether there are variants, or errors in them: errors must not be hidden."""
    if variants.WEIGHT not in form.fields:
        return False
    named = (*variants.FIELDS, CONTROL)
    texts = (form[template].value() for _number, template, _weight in variants.PAIRS)
    return any(texts) or bool(form[CONTROL].value()) or any(form[name].errors for name in named)


def _event_names(form: Any) -> list[str]:
    """Names of the project's events. A goal is one of these, or a future one."""
    project_field = form.fields.get("project")  # the chosen project, which the page put there
    project_id = form.instance.project_id or (project_field.initial if project_field else None)
    return reading.names(project_id) if project_id else []


def _furthest(request: HttpRequest, campaign: Campaign | None) -> int:
    """The last step of this campaign that the user has seen since log-in."""
    if campaign is None:
        return 0
    return int(request.session.get(SHOWN_STEPS, {}).get(str(campaign.pk), 0))


def _remember_step(request: HttpRequest, campaign: Campaign, number: int) -> None:
    if number > _furthest(request, campaign):
        shown_steps = {**request.session.get(SHOWN_STEPS, {}), str(campaign.pk): number}
        request.session[SHOWN_STEPS] = dict([*shown_steps.items()][-MAX_REMEMBERED:])


def _run_context(campaign: Campaign) -> dict[str, Any]:
    run = campaign.current_run()
    last = None if run else series.last_run(campaign.pk)
    return {
        "runs": campaign.runs.order_by("-pk")[:5],
        "current_run": run,
        "run_step": RUN_STEPS.get(run.state, _("Open the run")) if run else "",
        "stands": STANDS if run and campaign.series else "",
        "repeats": rhythm_in_words.of_campaign(campaign) if run else "",
        "zone": campaign.project.timezone,
        "stopped_at": last.series_stopped_at if last else None,
    }


@dataclass(frozen=True)
class Line:
    """One field of a step, and the CSS class that shows it only when it matters."""

    field: Any
    shown_if: str
    rare: bool


def _lines_by_step(form: Any) -> list[tuple[str, list[Line]]]:
    return [
        (
            name,
            [
                Line(form[field], steps.SHOWN_IF.get(field, ""), field in steps.RARE)
                for field in fields
                if field in form.fields and field not in (*variants.FIELDS, CONTROL)
            ],
        )
        for name, fields in steps.FIELDS.items()
    ]


def onward(request: HttpRequest, campaign: Campaign) -> HttpResponseRedirect:
    """Redirect after a save, to the step that the user asked for."""
    go = request.POST.get("_go", request.POST.get("_step", steps.REVIEW))
    step = go if go in steps.FIELDS else steps.REVIEW
    return HttpResponseRedirect(f"{page_url(campaign)}?step={step}&saved=1")


def say_if_twice(request: HttpRequest, campaign: Campaign, form: Any) -> None:
    if getattr(form, "twice", False):
        words = {"time": in_zone(campaign.at, campaign.timezone)}
        text = _("%(time)s occurs twice that night; the first one is used.") % words
        messages.info(request, text)
