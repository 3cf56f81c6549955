"""A template's texts as CSV or XLIFF, and what came back from the translators brought in."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.texts import revision
from campaigns.texts.comparison import Change
from campaigns.texts.template import Template
from campaigns.texts.translating import as_csv, as_xliff, upload_changes
from campaigns.texts.translating.units import MAX_ASKED, MOST_BYTES, Unreadable
from campaigns.texts.translating.upload_changes import Proposal
from notifications.api.base import query
from notifications.api.base.fields import StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView, save
from notifications.values.languages import canonical, validate_locale

LANGUAGES = query.text(
    "languages",
    "More languages to have a place for, as ko,pt-BR.",
    f"^{query.LANGUAGE}(,{query.LANGUAGE}){{0,{MAX_ASKED - 1}}}$",
    longest=36 * MAX_ASKED,
)
SOURCE = query.text(
    "source",
    "The language of the main text, which no template says. Default: en.",
    f"^{query.LANGUAGE}$",
    longest=35,
)
EXAMPLE = OpenApiExample(
    "Looked at, not saved",
    {"format": "csv", "text": "id,field,source,ko\r\ntitle,Title,Hello,안녕하세요\r\n"},
    request_only=True,
)


class TranslationsSerializer(StrictSerializer):
    """A file that came back from the translators."""

    format = serializers.ChoiceField(
        choices=upload_changes.FORMATS,
        error_messages={"invalid_choice": f"Use {' or '.join(upload_changes.FORMATS)}."},
    )
    text = serializers.CharField(
        max_length=MOST_BYTES, trim_whitespace=False, help_text="The file's content."
    )
    save = serializers.BooleanField(  # type: ignore[assignment]  # the metaclass takes it
        default=False, help_text="Save what is in order as a new revision; without it, only look."
    )
    revision = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="What was looked at: refused (409) when another was saved since.",
    )


class ChangedTextSerializer(serializers.Serializer[Any]):
    """One text that reads differently."""

    language = serializers.CharField()
    id = serializers.CharField()
    before = serializers.CharField(help_text="Empty: there was none.")
    after = serializers.CharField()


class RefusedTextSerializer(serializers.Serializer[Any]):
    """One text that stays as it is, and what to do."""

    row = serializers.IntegerField(help_text="The row of a CSV file, the line of an XLIFF file.")
    id = serializers.CharField()
    language = serializers.CharField()
    message = serializers.CharField()


class BroughtSerializer(serializers.Serializer[Any]):
    """What the file changes, and what of it is not taken."""

    saved = serializers.BooleanField()
    revision = serializers.IntegerField(help_text="The newest one, after this call.")
    changes = ChangedTextSerializer(many=True)
    refused = RefusedTextSerializer(many=True)


class TemplateCsv(ApiView):
    @takes(LANGUAGES)
    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Its texts as a CSV file: a row for each, a column for each language."""
        template = self.find(Template, pk)
        text = as_csv.written(template.written(), _tags(request, "languages"))
        return _file(text, "text/csv; charset=utf-8", f"template-{pk}.csv")


class TemplateXliff(ApiView):
    @takes(LANGUAGES, SOURCE)
    @extend_schema(responses={(200, "application/x-xliff+xml"): OpenApiTypes.STR})
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Its texts as an XLIFF 1.2 file: a `file` element for each language."""
        template = self.find(Template, pk)
        source = next(iter(_tags(request, "source")), "en")
        text = as_xliff.written(
            template.written(),
            _tags(request, "languages"),
            source=source,
            original=f"template-{pk}",
        )
        return _file(text, "application/x-xliff+xml", f"template-{pk}.xliff")


class TemplateTranslations(ApiView):
    @refuses(HTTPStatus.CONFLICT)
    @extend_schema(request=TranslationsSerializer, responses=BroughtSerializer, examples=[EXAMPLE])
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """What a translated file would change, or, with `save`, changes. A text whose variables
        are not those of the main text is refused with its row; all others are taken. What is not
        in the file stays."""
        values = self.given(TranslationsSerializer)
        try:
            cells = upload_changes.parse_file(values["format"], values["text"])
        except Unreadable as error:
            raise serializers.ValidationError({"text": str(error)}) from error
        with transaction.atomic():
            if values["save"]:
                revision.open_for_change(Template, self.find(Template, pk).pk)
            template = self.find(Template, pk, locked=values["save"])
            _refuse_stale(template, values.get("revision"))
            proposal = upload_changes.propose(template, cells)
            template.locales = proposal.locales
            if values["save"]:
                save(template)
                revision.keep(template, by=self.actor)
            else:
                _check(template)
        return Response(
            BroughtSerializer(_proposal_json(template, proposal, saved=values["save"])).data
        )


def _refuse_stale(template: Template, looked_at: int | None) -> None:
    newest = revision.newest_number(template)
    # Who looked before there was a first revision saw what the first one keeps.
    if looked_at is not None and max(looked_at, 1) != max(newest, 1):
        text = f"Revision {newest} was saved since. Look at the file again."
        raise Problem(HTTPStatus.CONFLICT, text, kind="changed", errors={"revision": text})


def _check(template: Template) -> None:
    """As a save would; the names of its fields are the template's."""
    try:
        template.clean()
    except ValidationError as error:
        raise serializers.ValidationError(error.message_dict) from error


def _proposal_json(template: Template, proposal: Proposal, *, saved: bool) -> dict[str, Any]:
    return {
        "saved": saved and bool(proposal.changes),
        "revision": revision.newest_number(template),
        "changes": [_change_json(change) for change in proposal.changes],
        "refused": [
            {
                "row": refusal.row,
                "id": refusal.id,
                "language": refusal.tag,
                "message": refusal.words,
            }
            for refusal in proposal.refused
        ],
    }


def _change_json(change: Change) -> dict[str, str]:
    _, language, *id = change.path
    return {
        "language": language,
        "id": ".".join(id),
        "before": change.before or "",
        "after": change.after or "",
    }


def _tags(request: Request, name: str) -> list[str]:
    tags = [
        name_given.strip()
        for name_given in request.query_params.get(name, "").split(",")
        if name_given.strip()
    ]
    for tag in tags:
        try:
            validate_locale(tag)
        except ValidationError as error:
            raise serializers.ValidationError({name: error.messages}) from error
    if len(tags) > MAX_ASKED:
        raise serializers.ValidationError({name: f"At most {MAX_ASKED} languages."})
    return [canonical(tag) for tag in tags]


def _file(text: str, kind: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=kind, headers=headers)
