"""Template: the text of a message, with variables, and its translations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.texts import buttons, caps, fcm_check, liquid, options
from campaigns.texts.content import TEXTS, in_language, languages_of
from campaigns.texts.liquid import Problem
from campaigns.texts.revision import Revision
from campaigns.texts.snippets import usage, validation
from campaigns.texts.snippets.mentions import HOLDERS
from notifications.fcm import rules
from notifications.fcm.options import data_key
from notifications.people.project import OfProject
from notifications.values.copy_names import name_of_copy
from notifications.values.languages import canonical, validate_locale
from notifications.values.text import visible


def validate_said_once(locales: Any) -> None:
    """Refuse two spellings of one language in new input; templates saved before can be launched."""
    first: dict[str, str] = {}
    for tag in locales if isinstance(locales, dict) else ():
        if (other := first.setdefault(canonical(tag), tag)) != tag:
            text = gettext("%(tag)s: the same language as %(other)s; keep one of the two.")
            raise ValidationError(text % {"tag": tag, "other": other})


class Template(OfProject):
    """The text of a message, with variables, and its translations."""

    KEPT: ClassVar[tuple[str, ...]] = ("name", *TEXTS, "buttons", "data", "options", "locales")
    # The project's snippets by name; set by code that checks many templates, or one without a row.
    snippets_known: usage.Snippets | None = None

    name = models.CharField(max_length=100)
    title = models.CharField(max_length=500, help_text=_("Variables: {{ first_name }}"))
    body = models.TextField(max_length=4_000)
    image = models.CharField(max_length=2_000, blank=True, help_text=_("An https address."))
    link = models.CharField(
        max_length=2_000,
        blank=True,
        help_text=_("Opened on tap: https://… or your app's own scheme."),
    )
    buttons = models.JSONField(
        default=list,
        blank=True,
        db_default=[],
        help_text=_('Buttons, at most three, e.g. [{"id": "open", "title": "Open"}].'),
    )
    data = models.JSONField(
        default=dict, blank=True, help_text=_('Extra texts for the app, e.g. {"screen": "offers"}.')
    )
    options = models.JSONField(
        default=dict,
        blank=True,
        help_text=_(
            'Per platform, e.g. {"android": {"channel_id": "offers"}, "ios": {"badge": 1}}.'
        ),
    )
    locales = models.JSONField(
        default=dict,
        blank=True,
        validators=[validate_said_once],
        help_text=_('The same in other languages, e.g. {"ko": {"title": "…", "body": "…"}}.'),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_template_per_name")
        ]

    def __str__(self) -> str:
        return self.name

    def delete_if_empty(self) -> None:
        """Delete the empty text that a draft of a campaign began with, once nothing uses it."""
        if any(getattr(self, name) for name in self.KEPT if name != "name"):
            return
        with suppress(models.ProtectedError), transaction.atomic():
            self.delete()

    def clean(self) -> None:
        if too_much := caps.problems({**self.written(), "template": ""}):
            raise ValidationError(too_much)
        snippet_names = self._names_known()
        problems: dict[str, Any] = {}
        for name in TEXTS:
            _collect(problems, name, text_problems(name, getattr(self, name), snippet_names))
        _collect(problems, "buttons", buttons.problems(self.buttons))
        _collect(problems, "data", data_problems(self.data, snippet_names))
        _collect(problems, "options", options.problems(self.options))
        _collect(problems, "locales", _locales_problems(self, snippet_names))
        if "locales" not in problems:
            self.locales = _in_one_form(self.locales)
        # Each part is valid on its own. Now check it with its snippets, then the whole for FCM.
        if not problems:
            content = self.frozen()
            problems = _filled_problems(content) or fcm_check.problems_of(content)
        if problems:
            raise ValidationError(problems)

    def _names_known(self) -> Collection[str]:
        if self.snippets_known is not None:
            return self.snippets_known.keys()
        return usage.names(self.project_id) if usage.mentioned(self.written()) else ()

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic():
            super().save(*args, **kwargs)
            usage.tie(self)

    def duplicate(self) -> Template:
        with transaction.atomic():
            # The lock makes a concurrent copy wait, so that it gets the next free name.
            copy = Template.objects.select_for_update(no_key=True).get(pk=self.pk)
            copy.pk, copy._state.adding = None, True
            names = Template.objects.filter(project=self.project_id).values_list("name", flat=True)
            copy.name = name_of_copy(self.name, set(names))
            copy.save()
        return copy

    def written(self) -> dict[str, Any]:
        """The content as its author wrote it, with mentions of snippets."""
        texts = {name: getattr(self, name) for name in TEXTS}
        per_language = {"data": self.data, "locales": self.locales}
        written = {**texts, **per_language, "options": self.options, "template": self.pk}
        # Left out if there are none: most templates have none, and older contents lack the key.
        return {**written, "buttons": self.buttons} if self.buttons else written

    def frozen(self) -> dict[str, Any]:
        """The content as a run freezes it, with its snippets as of now.

        Edits after the launch do not change it.
        """
        content = self.written()
        names = sorted(usage.mentioned(content))
        if not names:
            return content
        known = self.snippets_known
        if known is None:
            known = usage.snippets_to_freeze(self.project_id, names)
        return {**content, "snippets": {name: known[name] for name in names if name in known}}

    def as_stored(self) -> dict[str, Any]:
        """The content as a revision stores it: with the name, which a run does not need."""
        return {**self.written(), "name": self.name}


class TemplateRevision(Revision):
    """The content of a template after one change."""

    template = models.ForeignKey(Template, on_delete=models.CASCADE, related_name="revisions")

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["template", "number"], name="one_revision_per_number")
        ]

    def __str__(self) -> str:
        return f"revision {self.number} of {self.template}"


def _collect(problems: dict[str, Any], name: str, found: Iterable[Problem | str]) -> None:
    if errors := [_error(problem) for problem in found]:
        problems[name] = errors


def _error(problem: Problem | str) -> ValidationError:
    """A ValidationError that carries its problem, so that a page can show the place."""
    return ValidationError("%(problem)s", params={"problem": problem})


def text_problems(name: str, source: Any, snippets: Collection[str]) -> list[Problem]:
    if not isinstance(source, str):
        return [Problem(gettext("must be a text."), field=name)]
    source_problems = liquid.problems(source)
    if not source_problems:
        holds = name in HOLDERS
        source_problems = (
            validation.of_mentions(source, snippets) if holds else validation.out_of_place(source)
        )
    return [
        *(replace(problem, field=name) for problem in source_problems),
        *(Problem(words, field=name) for words in _address_problems(name, source)),
    ]


def _address_problems(name: str, source: str) -> Iterator[str]:
    # If an address ends in a person's value, its start is known. An address that is only a person's
    # value is checked when it is rendered.
    if name == "image" and source and not source.startswith(("{{", "{%")):
        yield from filter(None, [rules.https(source)])
    if name == "link":
        yield from filter(None, [rules.link(source)])
    if name in ("image", "link"):
        yield from filter(None, [rules.no_user(source)])


def data_problems(data: Any, snippets: Collection[str]) -> list[str]:
    if not isinstance(data, dict):
        return [gettext('must be an object of texts, e.g. {"screen": "offers"}.')]
    problems = []
    for key, value in data.items():
        if not isinstance(value, str):
            text = gettext("FCM takes texts only; write it in quotes.")
            problems.append(f"{key}: {text}")
        elif problem := data_key(key):
            problems.append(problem)
        else:
            value_problems = liquid.problems(value) or validation.of_mentions(value, snippets)
            problems += [f"{key}: {problem}" for problem in value_problems]
    return problems


def _in_one_form(locales: dict[str, Any]) -> dict[str, Any]:
    """The languages by their canonical tags, unless one of two spellings would be lost."""
    canonical_locales = {canonical(tag): texts for tag, texts in locales.items()}
    return canonical_locales if len(canonical_locales) == len(locales) else locales


def _locales_problems(template: Template, snippets: Collection[str]) -> list[Problem | str]:
    locales, ids = template.locales, buttons.ids_of(template.buttons)
    if not isinstance(locales, dict):
        text = gettext("must be an object, e.g. %(example)s.")
        return [text % {"example": '{"ko": {"title": "…", "body": "…"}}'}]
    problems: list[Problem | str] = []
    for locale, texts in locales.items():
        try:
            validate_locale(locale)
        except ValidationError as error:
            problems.append(f"{visible(locale)}: {error.messages[0]}")
        if not isinstance(texts, dict) or (extra := set(texts) - {*TEXTS, "data", "buttons"}):
            text = gettext("not an object; use title, body, image, link, buttons, data.")
            if isinstance(texts, dict):
                text = gettext("unknown key %(key)s; use title, body, image, link, buttons, data.")
                text %= {"key": sorted(extra)[0]}
            problems.append(f"{locale}: {text}")
            continue
        for name, source in texts.items():
            if name == "buttons":
                title_errors = buttons.problems_of_titles(source, ids)
                problems += [f"{locale}.buttons: {words}" for words in title_errors]
            elif name == "data":
                problems += [f"{locale}.data: {words}" for words in data_problems(source, snippets)]
            else:
                text_errors = text_problems(name, source, snippets)
                problems += [replace(problem, locale=locale) for problem in text_errors]
    return problems


def _filled_problems(content: dict[str, Any]) -> dict[str, Any]:
    """Problems that appear only with the snippets filled in, by the field that mentions them."""
    problems: dict[str, Any] = {}
    for tag in ("", *languages_of(content)) if "snippets" in content else ():
        filled = in_language(content, tag)
        texts = [(name, filled[name]) for name in HOLDERS]
        for field, source in [*texts, *(("data", value) for value in filled["data"].values())]:
            for problem in liquid.problems(source):
                text = gettext("with its snippets in: %(problem)s") % {"problem": problem.words}
                words = f"{tag}: {text}" if tag else text
                if words not in problems.setdefault(field, []):
                    problems[field].append(words)
    return {field: words for field, words in problems.items() if words}
