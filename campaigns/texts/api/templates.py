"""Templates: the texts, and exactly what one person would receive."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.texts import revision
from campaigns.texts.buttons import MOST
from campaigns.texts.rendering import Reader, Unrenderable, render
from campaigns.texts.template import Template
from notifications.api.base import pages
from notifications.api.base.fields import CountedList, JsonObject, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save
from notifications.api.person_in_query import contact_named
from notifications.fcm import payload
from notifications.gateway import Push
from notifications.people.contact import Contact
from notifications.staff.api_key import Scope

A_DAY = 86_400
EXAMPLE = OpenApiExample(
    "Hello",
    {
        "name": "Hello",
        "title": 'Hello {{ first_name | default: "there" }}',
        "body": "See you on Friday",
        "link": "https://example.com/events/1",
        "data": {"screen": "events"},
        "options": {"android": {"channel_id": "events"}, "ios": {"badge": 1}},
        "locales": {"ko": {"title": "안녕하세요"}},
    },
    request_only=True,
)


class Text(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_blank=True, trim_whitespace=False, **options)


class LanguageSerializer(serializers.Serializer[Any]):
    """The texts in another language."""

    may_lack = frozenset({"title", "body", "image", "link", "buttons", "data"})

    title = serializers.CharField(required=False, allow_blank=True)
    body = serializers.CharField(required=False, allow_blank=True)
    image = serializers.CharField(required=False, allow_blank=True)
    link = serializers.CharField(required=False, allow_blank=True)
    buttons = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, help_text="Titles, by id."
    )
    data = serializers.DictField(  # type: ignore[assignment]  # as below
        child=serializers.CharField(allow_blank=True), required=False
    )


@extend_schema_field(serializers.DictField(child=serializers.CharField(allow_blank=True)))
class Texts(JsonObject):
    """Texts by name."""


@extend_schema_field(serializers.DictField(child=LanguageSerializer()))
class Languages(JsonObject):
    """Texts by language."""


@extend_schema_field(serializers.DictField(child=JsonObject()))
class Options(JsonObject):
    """Options by platform."""


class ButtonSerializer(StrictSerializer):
    """A button below the text."""

    may_lack = frozenset({"link"})

    id = serializers.CharField(max_length=32, help_text="1 to 32 of a–z, 0–9, - and _.")
    title = serializers.CharField(max_length=100, trim_whitespace=False)
    link = serializers.CharField(
        max_length=2_000,
        required=False,
        allow_blank=True,
        help_text="Opened by it; left out, the message's link.",
    )


class Buttons(CountedList):
    """Drawn by browsers; on Android by the app, from the data `carillon_buttons`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=ButtonSerializer(), max_length=MOST, required=False, **options)


class TemplateSerializer(StrictSerializer):
    """A text with variables, and its translations."""

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=100)
    title = serializers.CharField(
        max_length=500, trim_whitespace=False, help_text="Variables: {{ first_name }}"
    )
    body = serializers.CharField(max_length=4_000, trim_whitespace=False)
    image = Text(max_length=2_000, help_text="An https address.")
    link = Text(
        max_length=2_000, help_text="Opened when tapped: https://… or your app's own scheme."
    )
    buttons = Buttons(help_text="At most three; iOS has those of `options.ios.category` instead.")
    # The metaclass takes declared fields off the class, so Serializer.data is still there.
    data = Texts(required=False, help_text="Extra texts for the app.")  # type: ignore[assignment]
    options = Options(
        required=False,
        help_text='Per platform: {"android": {"channel_id": "offers"}, "ios": {"badge": 1}}.',
    )
    locales = Languages(
        required=False, help_text="By language tag; what is left out is taken from the main text."
    )
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)


class ReaderSerializer(StrictSerializer):
    """The person whose values fill the variables."""

    contact = serializers.CharField(max_length=200, trim_whitespace=False)


class PreviewSerializer(serializers.Serializer[Any]):
    """What one person would receive."""

    message = JsonObject(help_text="In the format of FCM's messages:send.")


class Templates(ApiView):
    place = ("api-template", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="templates_list", responses=pages.schema_of(TemplateSerializer))
    def get(self, request: Request) -> Response:
        """Every template, newest first."""
        mine = Template.objects.filter(project=self.project)
        return pages.page_by_id(request, mine, TemplateSerializer().to_representation)

    @extend_schema(
        request=TemplateSerializer, responses={201: TemplateSerializer}, examples=[EXAMPLE]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a template."""
        template = Template(project=self.project, **self.given(TemplateSerializer))
        with transaction.atomic():
            save(template)
            revision.keep(template, by=self.actor)
        return Response(TemplateSerializer(template).data, status=201)


class TemplateById(WritableRowView[Template]):
    model, serializer_class = Template, TemplateSerializer
    words = {
        "get": "One template.",
        "put": "Replace a template. Runs already launched keep their text.",
        "patch": "Change the given fields. Fields you leave out keep their value; buttons, data, "
        "options and locales are each replaced as a whole.",
        "delete": "Delete a template that no campaign uses.",
    }
    otherwise = {"image": "", "link": "", "buttons": [], "data": {}, "options": {}, "locales": {}}

    def write(self, row: Template, given: dict[str, Any]) -> None:
        revision.open_for_change(Template, row.pk)
        for name, value in given.items():
            setattr(row, name, value)
        save(row)
        revision.keep(row, by=self.actor)


class TemplatePreview(ApiView):
    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(request=ReaderSerializer, responses=PreviewSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """The message this person would get on the device they used last. Nothing is sent."""
        template = self.find(Template, pk)
        contact = contact_named(self, self.given(ReaderSerializer)["contact"])
        message = _render_for(template, _reader(contact))
        return Response({"message": payload.as_fcm(self._for_this_key(message))})

    def _for_this_key(self, message: Push) -> Push:
        """A key that may not read people gets only the end of the address, enough to tell two
        apart."""
        if Scope.CONTACTS in self.key.scopes:
            return message
        return replace(message, address=f"…{message.address[-6:]}")


def _reader(contact: Contact) -> Reader:
    device = contact.devices.filter(retired_at__isnull=True).order_by("-last_seen_at").first()
    if device is None:
        raise serializers.ValidationError({"contact": "This person has no active device."})
    return Reader(
        reference="preview",
        external_id=contact.external_id,
        attributes=contact.attributes,
        locale=contact.locale,
        timezone=contact.timezone,
        kind=device.kind,
        address=device.address,
        platform=device.platform,
    )


def _render_for(template: Template, reader: Reader) -> Push:
    try:
        return render(template.frozen(), reader, collapse_id="carillon-preview", ttl_seconds=A_DAY)
    except Unrenderable as error:
        fate = "reject" if error.rejected else "skip"
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"A launch would {fate} this person. {error.reason.label}: {error.detail}",
            kind=error.reason.value.replace("_", "-"),
            errors={"contact": error.detail},
            reason=error.reason.value,
        ) from error
