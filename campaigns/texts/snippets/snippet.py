"""Snippet: a short text that many templates mention, written once, with its translations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.texts.revision import Revision
from campaigns.texts.snippets import mentions, validation
from notifications.people.project import OfProject
from notifications.values.languages import canonical

MAX_OF_A_PROJECT = 200
CHECKED = 100  # the newest templates that mention it: a launch checks each one again

validate_name = RegexValidator(
    rf"^{mentions.NAME}\Z",
    _("Use small letters, digits and “_”, beginning with a letter; at most 40."),
)


class Snippet(OfProject):
    """A short text that templates mention as {{ snippet.name }}."""

    KEPT: ClassVar[tuple[str, ...]] = ("name", "text", "locales")

    name = models.CharField(max_length=40, validators=[validate_name])
    text = models.TextField(max_length=validation.MAX_LETTERS)
    locales = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_snippet_per_name")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def mention(self) -> str:
        return f"{{{{ {mentions.HEAD}.{self.name} }}}}"

    def says(self) -> dict[str, Any]:
        return {"text": self.text, "locales": self.locales}

    def as_stored(self) -> dict[str, Any]:
        return {**self.says(), "name": self.name}

    def alone(self) -> dict[str, Any]:
        """The content of a message that consists of this snippet only."""
        nothing = {"title": "", "image": "", "link": "", "data": {}, "options": {}}
        locales = {tag: {"body": texts.get("text", "")} for tag, texts in self.locales.items()}
        return {**nothing, "body": self.text, "locales": locales}

    def problems_of_texts(self) -> dict[str, Any]:
        problems: dict[str, Any] = {}
        text_problems = validation.of_snippet(self.text)
        _collect(problems, "text", [replace(problem, field="text") for problem in text_problems])
        _collect(problems, "locales", validation.of_locales(self.locales))
        return problems

    def clean(self) -> None:
        problems = self.problems_of_texts()
        if "locales" not in problems:
            self._say_each_language_once(problems)
        stored = Snippet.objects.filter(pk=self.pk).first() if self.pk else None
        if stored is None:
            self._find_room(problems)
        else:
            self._keep_name(problems, stored)
            if not problems and stored.says() != self.says():
                self._look_at_templates(problems)
        if problems:
            raise ValidationError(problems)

    def _say_each_language_once(self, problems: dict[str, Any]) -> None:
        known = {canonical(tag): texts for tag, texts in self.locales.items()}
        if len(known) < len(self.locales):
            text = gettext("Two of the tags are the same language; keep one of the two.")
            problems["locales"] = [text]
        else:
            self.locales = known

    def _find_room(self, problems: dict[str, Any]) -> None:
        if Snippet.objects.filter(project=self.project_id).count() >= MAX_OF_A_PROJECT:
            text = gettext("A project holds at most %(most)s snippets. Delete one first.")
            problems["name"] = [text % {"most": MAX_OF_A_PROJECT}]

    def _keep_name(self, problems: dict[str, Any], stored: Snippet) -> None:
        if stored.name != self.name and self.uses.exists():
            text = gettext(
                "Templates mention it as %(mention)s. Take it out of them before you rename it."
            )
            problems["name"] = [text % {"mention": stored.mention}]

    def _look_at_templates(self, problems: dict[str, Any]) -> None:
        """Refuse the change if a template can be sent now, but could not be sent with it."""
        uses = self.uses.select_related("template").order_by("-template_id")[:CHECKED]
        others = Snippet.objects.filter(project=self.project_id)
        current = {snippet.name: snippet.says() for snippet in others}
        changed = {**current, self.name: self.says()}
        for template in (use.template for use in uses):
            if (words := _trouble(template, changed)) and not _trouble(template, current):
                text = gettext("“%(template)s” could not be sent with it: %(problem)s")
                problems.setdefault("text", []).append(
                    text % {"template": template, "problem": words}
                )


class SnippetRevision(Revision):
    """The content of a snippet after one change."""

    snippet = models.ForeignKey(Snippet, on_delete=models.CASCADE, related_name="revisions")

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["snippet", "number"], name="one_revision_per_number_of_snippet"
            )
        ]

    def __str__(self) -> str:
        return f"revision {self.number} of {self.snippet}"


def _trouble(template: Any, snippets: dict[str, dict[str, Any]]) -> str:
    """Why this template could not be sent with these snippets; empty if it could."""
    template.snippets_known = snippets
    try:
        template.clean()
    except ValidationError as error:
        return error.messages[0]
    return ""


def _collect(problems: dict[str, Any], name: str, errors: list[Any]) -> None:
    if errors:
        problems[name] = [ValidationError("%(problem)s", params={"problem": p}) for p in errors]
