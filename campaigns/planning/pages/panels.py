"""Panels beside each step of the campaign form: what its values would do; at the end the review."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import trigger_client_event

from campaigns.audiences import reach
from campaigns.audiences.audience import Audience, validate_rules
from campaigns.audiences.pages.audience_preview import problems
from campaigns.audiences.selection import sample
from campaigns.audiences.words import sentence
from campaigns.engagement import goal_in_words
from campaigns.forecast import opens
from campaigns.forecast.skips import skipped, waterfall
from campaigns.launch_check import freshness, group_sizes
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import MAX_CONTROL, Campaign
from campaigns.planning.pages import forecast_chart as chart
from campaigns.planning.pages import form, schedule_preview, skipped_people
from campaigns.planning.pages import variant_fields as variants
from campaigns.planning.pages.calendar import span as calendar_span
from campaigns.planning.pages.in_place import MAKE
from campaigns.planning.repeats import days_off
from campaigns.rehearsals.pages import latest_rehearsals
from campaigns.runs import policy
from campaigns.runs.pages.deliveries import number
from campaigns.runs.variants import split
from campaigns.runs.variants.group import MAIN, in_words
from campaigns.test_sends import pages as test_sends
from campaigns.test_sends.create import TextToTest, text_of_campaign, text_of_template
from campaigns.texts import preview
from campaigns.texts.content import TEXTS, Content, languages_of
from campaigns.texts.template import Template
from campaigns.texts.writing import coverage, insertable
from campaigns.texts.writing.problems import Found, locate_problems
from campaigns.texts.writing.valid_part import readable
from notifications.admin.ui.current_project import named
from notifications.admin.ui.dialogs import gone
from notifications.admin.ui.json_field import JSONText
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import Page
from notifications.people.consent import eligibility
from notifications.people.consent.category import Category
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres.budget import Busy, TooSlow, slow_query_slot, statement_timeout
from notifications.staff.subjects import Subject

SHOWN_PEOPLE = 10
FOLDER = "admin/campaigns/campaign"


class Panels:
    """Views of the panels. They refresh while the user types, and save nothing."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def urls(self) -> list[URLPattern]:
        return self.page.guarded_paths(
            [
                ("who/", require_POST(self.who_view), "campaign_who"),
                ("what/", require_POST(self.what_view), "campaign_what"),
                ("what/variables/", require_POST(self.variables_view), "campaign_variables"),
                ("what/test/", self.text_test_view, "campaign_text_test"),
                ("<int:pk>/test/", self.test_view, "campaigns_campaign_test"),
                ("when/", require_POST(self.when_view), "campaign_when"),
                ("when/holidays/", require_POST(self.holidays_view), "campaign_holidays"),
                ("<int:pk>/review/", require_GET(self.review_view), "campaign_review"),
                ("<int:pk>/left-out/", require_GET(self.left_out_view), "campaign_left_out"),
            ]
        )

    def who_view(self, request: HttpRequest) -> HttpResponse:
        """The form's current audience: in words, counted, and with a few of its people."""
        context: dict[str, Any] = {}
        try:
            project, rules = _audience_in(request)
            asks = _asks(request, project)
            reached = reach.quick(project.pk, rules, asks=asks)
            context = {
                "said": sentence(rules, project_id=project.pk),
                "reach": reached,
                "outcome": _describe_skipped(project, rules, reached, asks),
            }
            with suppress(TooSlow), statement_timeout(seconds=0.2):
                context["people"] = sample(project.pk, rules, size=SHOWN_PEOPLE)
        except ValidationError as error:
            context["hint"] = " ".join(str(problem) for problem in problems(error))
        return render(request, f"{FOLDER}/who.html", context)

    def what_view(self, request: HttpRequest) -> HttpResponse:
        """The form's current text on three phones, for one person."""
        try:
            project, template = _text_in(request)
        except ValidationError as error:
            return render(request, f"{FOLDER}/what.html", {"hints": error.messages})
        context: dict[str, Any] = {"problems": _find_problems(template)}
        readable_template = readable(template) if context["problems"] else template
        if readable_template is not None:
            main = (
                MAIN,
                readable_template,
                variants.posted_weight(request.POST.get(variants.WEIGHT, "")),
            )
            texts = [main, *variants.posted(request.POST, project.pk)]
            context |= _on_phones(request, project, [text for _n, text, _w in texts])
            context |= _variants_context(request, project, texts, context)
        return render(request, f"{FOLDER}/what.html", context)

    def variables_view(self, request: HttpRequest) -> HttpResponse:
        """Variables for the text, and how many of the audience's people have each."""
        project = named(request)
        context: dict[str, Any] = {"project": project}
        if project is not None:
            external_id = request.POST.get("preview_person", "").strip()
            person = (
                preview.pick_person(project, external_id)
                if external_id
                else _pick_reader(request, project)
            )
            rules = _rules_in(request)
            known, people = insertable.known_among(project, person, rules) if rules else ([], 0)
            context |= {
                "person": person,
                "people": people,
                "known": known or insertable.known(project, person),
                "snippets": insertable.snippets(project, person),
            }
        return render(request, "admin/campaigns/template/variables.html", context)

    def text_test_view(self, request: HttpRequest) -> HttpResponse:
        """Test send of the form's current text."""

        def text_of(variant: int) -> TextToTest:
            project, template = _text_in(request)
            chosen = _category(request, project)
            text = text_of_template(template)
            name = text.name or request.POST.get("name", "").strip()
            return replace(text, name=name, category_kind=chosen.kind, category=chosen.slug)

        mine = self.page.get_queryset(request)
        campaign = mine.filter(pk=row_id(request.GET.get("campaign")) or 0).first()
        about = campaign or Subject("campaign", None, request.POST.get("name", "").strip()[:100])
        return test_sends.dialog(
            request,
            named(request),
            text_of,
            about=about,
            languages=sorted(campaign.template.locales) if campaign else [],
            includes="#campaign_form",
        )

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Test send of the saved campaign, as a launch would send it now."""
        related = Campaign.objects.select_related("template", "project", "category", "corrects")
        campaign = related.filter(pk=pk).first()
        if campaign is None or self.page.get_object(request, str(pk)) is None:
            return gone(request)
        texts = campaign_variants.wordings(campaign)
        return test_sends.dialog(
            request,
            campaign.project,
            lambda variant: text_of_campaign(campaign, variant),
            about=campaign,
            languages=sorted({tag for wording in texts for tag in wording.template.locales}),
            variants=texts,
        )

    def when_view(self, request: HttpRequest) -> HttpResponse:
        """The form's current times: the days it is sent, and how long it takes."""
        mine = self.page.get_queryset(request).select_related("audience", "project")
        campaign = mine.filter(pk=row_id(request.POST.get("campaign")) or 0).first()
        context = {"when": schedule_preview.parse(request.POST, campaign, timezone.now())}
        return render(request, f"{FOLDER}/when_panel.html", context)

    def holidays_view(self, request: HttpRequest) -> HttpResponse:
        """The form's current days off, with those of a calendar file or a country added."""
        today, posted = timezone.now().date(), request.POST
        context: dict[str, Any] = {"holidays_file": form.holidays_file()}
        if "public" in posted or schedule_preview.PUBLIC in posted:
            context["public"] = public = schedule_preview.PublicHolidays.read(posted, today)
        try:
            added: dict[date, str] = {}
            if posted.get("public") == "add":
                added = public.days()
            elif "public" not in posted:
                file = schedule_preview.holidays_of_file(request.FILES.get("holidays"), today)
                added, context["left_out"] = file.days, file.left_out
            if added:
                text = schedule_preview.with_holidays(posted.get("days_off", ""), added)
                context["days_off"] = form.days_off_again(text)
                context["taken"] = days_off.in_lines(added).splitlines()
        except ValidationError as error:
            context["wrong"] = error.messages[0]
        reply = render(request, f"{FOLDER}/holidays.html", context)
        return trigger_client_event(reply, "days-off", after="settle")

    def left_out_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return skipped_people.page(request, self._campaign(request, pk))

    def _campaign(self, request: HttpRequest, pk: int) -> Campaign:
        related = Campaign.objects.select_related("audience", "template", "project")
        campaign = related.filter(pk=pk).first()
        if campaign is None or self.page.get_object(request, str(pk)) is None:
            raise Http404
        return campaign

    def review_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        campaign = self._campaign(request, pk)
        try:
            with slow_query_slot(campaign.project_id):
                return self._review(request, campaign)
        except Busy:
            return render(request, f"{FOLDER}/review_busy.html", {"campaign": campaign})

    def _review(self, request: HttpRequest, campaign: Campaign) -> HttpResponse:
        report, days_of = LaunchReport(campaign, timezone.now()), calendar_span.zone_of(request)
        context = {
            "campaign": campaign,
            "report": report,
            "chart": chart.draw_course(report.course, campaign.zone),
            "opens_chart": chart.of_opens(report.course, report.opens, campaign.zone),
            "opens_said": opens.describe_opens(report.opens),
            "in_vain": waterfall.in_vain(report.course),
            "quota_day": report.starts_at.astimezone(ZoneInfo(days_of)).date(),
            "zone": campaign.zone,
            "goal": goal_in_words.goal_in_words(campaign),
            "switched_on": policy.switched_on(campaign),
            "series": campaign.schedule_kind == Campaign.Schedule.RECURRING,
            "current_run": campaign.current_run(),
            "may_launch": self.page.opens(request, "launch"),
            "may_test": self.page.opens(request, "test"),
            "may_rehearse": self.page.opens(request, "rehearse"),
            "rehearsals": latest_rehearsals(campaign),
            "may_change": self.page.has_change_permission(request),
            "looked_at": urlencode({"looked_at": freshness.marks(campaign)}),
        }
        return render(request, f"{FOLDER}/review.html", context)


# --- The form's current values --------------------------------------------------------------------


def _project_in(request: HttpRequest) -> Project:
    """The chosen project, if the request names it. Raises ValidationError if not."""
    project = named(request)
    if project is None:
        raise ValidationError(_("Choose a project first."))
    return project


def _audience_in(request: HttpRequest) -> tuple[Project, dict[str, Any]]:
    project = _project_in(request)
    if request.POST.get("audience_from") == MAKE:
        rules = JSONText(required=True).clean(request.POST.get("rules", ""))
        validate_rules(rules, project_id=project.pk)
        return project, rules
    chosen = Audience.objects.filter(project=project, pk=row_id(request.POST.get("audience")) or 0)
    audience = chosen.first()
    if audience is None:
        raise ValidationError(_("Choose an audience to see who is in it, and how many."))
    audience.clean()
    return project, audience.effective_rules


def _rules_in(request: HttpRequest) -> dict[str, Any]:
    """Rules of the form's audience; empty while there is none."""
    try:
        return _audience_in(request)[1]
    except ValidationError:
        return {}


def _asks(request: HttpRequest, project: Project) -> dict[str, Any]:
    """The consent that the chosen category requires."""
    chosen = _category(request, project)
    return eligibility.skip_reason_params(chosen.kind, chosen.slug)


def _category(request: HttpRequest, project: Project) -> Category:
    categories = Category.objects.filter(
        project=project, pk=row_id(request.POST.get("category")) or 0
    )
    return categories.first() or Category(kind="", slug="")


def _describe_skipped(
    project: Project, rules: dict[str, Any], reached: reach.Reach, asks: dict[str, Any]
) -> str:
    """How many are skipped, in words; empty if nobody is."""
    out = skipped.out(project.pk, rules, reached, asks)
    return skipped.outcome(reached, out, all_reasons=False) if out.devices != 0 else ""


def _text_in(request: HttpRequest) -> tuple[Project, Template]:
    project = _project_in(request)
    if request.POST.get("template_from") == MAKE:
        texts = {name: request.POST.get(name, "") for name in TEXTS}
        if not (texts["title"] or texts["body"]):
            raise ValidationError(_("Write a title and a text to see them on a phone."))
        return project, Template(project=project, **texts)
    chosen = Template.objects.filter(project=project, pk=row_id(request.POST.get("template")) or 0)
    template = chosen.first()
    if template is None:
        raise ValidationError(_("Choose a template to see it on a phone."))
    return project, template


def _texts_with(variable: preview.Variable, texts: int) -> str:
    """The texts that use this variable; empty if all do."""
    return "" if len(variable.texts) == texts else ", ".join(map(in_words, variable.texts))


def _find_problems(template: Template) -> list[Found]:
    try:
        template.clean()
    except ValidationError as error:
        return locate_problems(error.error_dict, template.written())
    return []


def _variants_context(
    request: HttpRequest,
    project: Project,
    texts: list[tuple[int, Template, int]],
    context: dict[str, Any],
) -> dict[str, Any]:
    """The form's other texts, beside the main one, and who gets which."""
    control = min(number(request.POST.get("control_percent", "")) or 0, MAX_CONTROL)
    category = _category(request, project)
    past = request.POST.get("past_holdout") == "on"
    holdout = split.holdout_of(project.pk, category.kind, past_holdout=past)
    parts = split.Split(1, tuple(weight for *_, weight in texts), control, holdout)
    names = {place: str(text) if text.pk else _("the text here") for place, (_n, text, _w)
             in enumerate(texts)}  # fmt: skip
    cards = [
        (in_words(place), preview.card(text.frozen(), context["person"], locale=context["locale"],
                                       platform=context["platform"]))
        for place, (_n, text, _w) in enumerate(texts)
    ]  # fmt: skip
    return {
        "shares": group_sizes.shares(parts, names, None),
        "wordings": cards if len(cards) > 1 else [],
    }


def _on_phones(request: HttpRequest, project: Project, texts: list[Template]) -> dict[str, Any]:
    """The main text on each phone, and how many people lack a value that a text uses."""
    template, *other_templates = texts
    content = template.frozen()
    external_id = request.POST.get("preview_person", "").strip()
    person = (
        preview.pick_person(project, external_id)
        if external_id
        else _pick_reader(request, project, content)
    )
    tag = request.POST.get("preview_locale", "")
    locale = tag if tag in languages_of(content) else ""
    rules = _rules_in(request)
    lacks = partial(coverage.lacking, rules=rules) if rules else None
    frozen = [other_template.frozen() for other_template in other_templates]
    variables = preview.variables(content, project, others=frozen, lacks=lacks)
    return {
        "cards": preview.cards(content, person, locale=locale),
        "variables": [(variable, _texts_with(variable, len(texts))) for variable in variables],
        "of_audience": bool(rules),
        "person": person,
        "unknown_person": external_id if external_id and person is None else "",
        "locale": locale,
        "locales": sorted(languages_of(content)),
        "project": project,
        "template": template,
        "dark": request.POST.get("preview_dark") == "on",
        "platform": request.POST.get("preview_platform", "android"),
    }


def _pick_reader(
    request: HttpRequest, project: Project, content: Content | None = None
) -> Contact | None:
    """A person for the preview: from the audience, if one is chosen, as they will read it. For a
    text, someone who would be sent it, if there is one among a few."""
    people = _people_of_audience(request, project)
    if content is None or not people:
        return people[0] if people else preview.reader(project, content)
    return preview.readable_by(content, people)


def _people_of_audience(request: HttpRequest, project: Project) -> list[Contact]:
    """A few people of the audience, in any order."""
    try:
        _, rules = _audience_in(request)
    except ValidationError:
        return []
    people: list[Contact] = []
    for only in (skipped.wants(_asks(request, project)), None):
        with suppress(TooSlow, ValidationError), statement_timeout(seconds=0.2):
            people = people or sample(project.pk, rules, size=SHOWN_PEOPLE, only=only)
    random.shuffle(people)
    return people
