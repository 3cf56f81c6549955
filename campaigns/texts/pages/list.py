"""Template list: each text as a person would read it, with values filled in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from campaigns.texts import preview
from campaigns.texts.snippets import usage
from notifications.admin.ui.keyset import PlainChangeList
from notifications.people.contact import Contact

LETTERS_SHOWN = 90
LANGUAGES_SHOWN = 8  # a text in fifty languages would make a row of a thousand pixels


class TemplateList(PlainChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: list[Any] = list(self.result_list)
        readers: dict[int, Contact | None] = {}
        snippets: dict[int, usage.Snippets] = {}
        for template in self.result_list:
            project = template.project
            if project.pk not in readers:
                newest = Contact.objects.filter(project=project).order_by("-pk")
                readers[project.pk] = newest.first()
                snippets[project.pk] = usage.snippets_to_freeze(project.pk)
            template.snippets_known = snippets[project.pk]
            template.as_read = preview.as_read(template.frozen(), readers[project.pk])
