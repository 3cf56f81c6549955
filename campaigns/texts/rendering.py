"""Rendering: from a run's frozen content and a person to a Push, or why the person gets none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import orjson
from django.utils.translation import gettext
from liquid.exceptions import OutputStreamLimitError, UndefinedError

from campaigns.runs.reasons import Reason
from campaigns.texts import caps, filling, liquid
from campaigns.texts.content import Content, in_language, is_personal, on_platform
from notifications.fcm import options, payload, rules, validation
from notifications.fcm.schema_check import FieldProblem
from notifications.fcm.sizes import TooBig
from notifications.gateway import Push
from notifications.keys import counted_link
from notifications.keys.receipt_id import receipt_id
from notifications.people.project import CountedLinks, Project

WHOLE = "message"


@dataclass(slots=True)
class Reader:
    """The person and the device a text is rendered for."""

    reference: str
    external_id: str
    attributes: Mapping[str, Any]
    locale: str
    timezone: str
    kind: str
    address: str
    platform: str


class Unrenderable(Exception):
    """Raised if one person cannot get the message, with the reason. Others are not affected."""

    def __init__(
        self,
        reason: Reason,
        text: str,
        field: str = "",
        *,
        kept: str = "",
        message: Push | None = None,
    ) -> None:
        super().__init__(text)
        self.reason, self.text, self.field = reason, text, field
        self._kept = kept
        self.message = message  # set if it is only too big

    @property
    def detail(self) -> str:
        """The text, with FCM's name of the field at fault if there is one."""
        return f"{self.field}: {self.text}" if self.field else self.text

    @property
    def stored_detail(self) -> str:
        """The detail as a delivery stores it: audience rules look for it there."""
        return self._kept or self.detail

    @property
    def why(self) -> str:
        """The detail for the author of the text, without FCM's name of the whole message."""
        return self.text if self.field == WHOLE else self.detail

    @property
    def rejected(self) -> bool:
        """Whether FCM would refuse this message; otherwise we skip the person by choice."""
        return self.reason in (Reason.INVALID_MESSAGE, Reason.TOO_LONG)


def render(
    content: Content,
    reader: Reader,
    *,
    collapse_id: str,
    ttl_seconds: int,
    analytics_label: str = "",
) -> Push:
    """Render for one person. For many, keep a Renderer: it does once what is the same for all."""
    renderer = Renderer(content, collapse_id=collapse_id, analytics_label=analytics_label)
    return renderer.render(reader, ttl_seconds=ttl_seconds)


class Renderer:
    """Renders one content for any number of people."""

    def __init__(
        self,
        content: Content,
        *,
        collapse_id: str,
        analytics_label: str = "",
        asks_receipts: bool = False,
        counts_links: str = "",
        mark: Literal["", "is_test", "only_checked"] = "",
    ) -> None:
        self._content, self._asks_receipts = content, asks_receipts
        self._counts_links = counts_links
        self._common: dict[str, Any] = {
            "collapse_id": collapse_id,
            "analytics_label": analytics_label,
        }
        if mark:
            self._common[mark] = True
        self._sheets: dict[tuple[str, str], Sheet] = {}
        self._words: dict[str, Words] = {}

    @classmethod
    def for_project(
        cls, project: Project, content: Content, *, collapse_id: str, analytics_label: str
    ) -> Renderer:
        """The renderer of a check: it adds what the project adds to each message it sends."""
        return cls(
            content,
            collapse_id=collapse_id,
            analytics_label=analytics_label,
            asks_receipts=project.asks_receipts,
            counts_links=project.counts_links,
        )

    def render(self, reader: Reader, *, ttl_seconds: int) -> Push:
        """Render a message that FCM will accept. Raises Unrenderable with the field at fault."""
        sheet = self._sheet(reader.locale, reader.platform)
        texts = sheet.filled_for(reader)
        sheet.hold_to_rules(texts)
        message = Push(
            reference=reader.reference,
            receipt=receipt_id(reader.reference) if self._asks_receipts else "",
            kind=reader.kind,
            address=reader.address,
            platform=reader.platform,
            ttl_seconds=ttl_seconds,
            **self._common,
            **texts,
        )
        if self._counts_links:
            self._count_its_link(message)
        sheet.check(message)
        return message

    def _count_its_link(self, message: Push) -> None:
        """Lead the link through our server, so that opens are counted.

        A link that an app opens itself stays as it is, unless every link is counted: the app may
        know the page, and have it open.
        """
        if through_us := counted_link.link_through_us(message.reference, message.link):
            message.browser_link = through_us
            if self._counts_links == CountedLinks.EVERY:
                message.link = through_us

    def words(self, reader: Reader) -> dict[str, Any]:
        """The texts for places other than a push, e.g. an inbox: of any length, or Unrenderable."""
        words = self._words.get(reader.locale)
        if words is None:
            content = in_language(self._content, reader.locale)
            words = self._words[reader.locale] = Words(content)
        texts = words.filled_for(reader)
        words.hold_to_rules(texts)
        return texts

    def _sheet(self, locale: str, platform: str) -> Sheet:
        sheet = self._sheets.get((locale, platform))
        if sheet is None:
            sheet = self._sheets[locale, platform] = Sheet(self._content, locale, platform)
        return sheet


RULED = {
    "image": ("message.notification.image", rules.image),
    "link": ("message.data.link", rules.link),
}
Fill = Callable[[Mapping[str, Any]], Any]


class Words:
    """The texts in one language: the part that all people share, and the personal part."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        personal = {name: source for name, source in written.items() if is_personal(source)}
        self._fills = {name: _fill(source) for name, source in personal.items()}
        self._shared = {name: written[name] for name in written if name not in self._fills}
        self._says_something = bool(written["title"] or written["body"])
        # Options are checked as they are parsed. For title, body and data, FCM has no rules but
        # their letters and size. That leaves what a phone fetches or opens.
        self._ruled = [(name, *RULED[name]) for name in RULED if name in self._fills]

    def filled_for(self, reader: Reader) -> dict[str, Any]:
        if not self._fills:
            return self._shared
        values = values_of(reader)
        own = {name: fill(values) for name, fill in self._fills.items()}
        return {**self._shared, **own}

    def hold_to_rules(self, said: Mapping[str, Any]) -> None:
        """Raise Unrenderable for an invalid image or link, and for an empty title and body."""
        if self._says_something and not (said["title"].strip() or said["body"].strip()):
            empty = gettext("title and body are empty for this person")
            raise Unrenderable(Reason.TEMPLATE_ERROR, empty)
        for name, field, rule in self._ruled:
            if words := rule(said[name]):
                raise _refusal(FieldProblem(field, words))


class Sheet(Words):
    """The content in one language for one platform, with its options.

    The whole check costs a third of rendering, and its answer would nearly always be the same. So
    the first person's message is checked in full, and the next ones only for what may differ.
    """

    def __init__(self, content: Content, locale: str, platform: str) -> None:
        super().__init__(on_platform(content, locale, platform))
        self._platform = platform
        if "options" in self._shared:
            self._shared["options"] = self._options(self._shared["options"])
        self._in_order = False

    def filled_for(self, reader: Reader) -> dict[str, Any]:
        filled = super().filled_for(reader)
        if "options" in self._fills:
            filled["options"] = self._options(filled["options"])
        return filled

    def check(self, message: Push) -> None:
        """Raise Unrenderable if FCM would refuse the message."""
        try:
            body = payload.encode(message)
        except orjson.JSONEncodeError:
            fcm = payload.as_fcm(message)  # the whole check finds the letter
        else:
            if self._in_order and validation.is_clear(body):
                return
            fcm = orjson.loads(body)["message"]
        if problems := validation.validate(fcm):
            raise _refusal(problems[0], message)
        self._in_order = True

    def _options(self, written: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return options.parse(self._platform, written)
        except options.Unreadable as error:
            field = f"options.{self._platform}.{error.inner}"
            raise _refusal(FieldProblem(field, error.words)) from error


def _refusal(problem: FieldProblem, message: Push | None = None) -> Unrenderable:
    too_long = isinstance(problem, TooBig)
    reason = Reason.TOO_LONG if too_long else Reason.INVALID_MESSAGE
    oversized = message if too_long else None
    return Unrenderable(reason, problem.text, problem.field, message=oversized)


def values_of(reader: Reader) -> dict[str, Any]:
    """The values that a text can use. An empty value is missing: “Hi ,” is worse than no push."""
    own = {"external_id": reader.external_id, "locale": reader.locale, "timezone": reader.timezone}
    everything = {**reader.attributes, **own}
    return {
        name: liquid.held(value, name) if type(value) in (dict, list) else value
        for name, value in everything.items()
        if value not in (None, "")
    }


def _fill(source: Any) -> Fill:
    """Compile a text, object or list to a function that fills in a person's values."""
    if isinstance(source, str):
        return partial(_text, filling.ready(source))
    if isinstance(source, dict):
        inner = {key: _fill(value) for key, value in source.items() if is_personal(value)}
        return lambda values: {**source, **{key: fill(values) for key, fill in inner.items()}}
    fills = [_fill(value) if is_personal(value) else partial(_same, value) for value in source]
    return lambda values: [fill(values) for fill in fills]


def _same(value: Any, _: Mapping[str, Any]) -> Any:
    return value


def _text(fill: Callable[[Mapping[str, Any]], str], values: Mapping[str, Any]) -> str:
    try:
        return fill(values)
    except UndefinedError as error:
        words, detail = liquid.what_is_missing(error)[:200], liquid.as_kept(error)[:200]
        raise Unrenderable(Reason.MISSING_VALUE, words, kept=detail) from error
    except liquid.HoldsSeveral as error:
        raise Unrenderable(Reason.TEMPLATE_ERROR, error.words[:200]) from error
    except OutputStreamLimitError as error:
        text = gettext("one text alone has over %(most)s bytes. Shorten it.")
        words = text % {"most": f"{caps.MAX_OUTPUT:,}"}
        raise _refusal(TooBig(WHOLE, words)) from error
    # Liquid lets Python's own errors through (a date of 4,000 digits overflows). They say that
    # this person's values do not fit the text, never that the run is broken.
    except Exception as error:
        raise Unrenderable(Reason.TEMPLATE_ERROR, liquid.why_it_fails(error)[:200]) from error
