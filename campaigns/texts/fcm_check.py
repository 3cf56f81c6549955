"""FCM check: whether FCM would accept a template, in every language and on every platform.

It uses a made-up person, so it checks what all people share. Personal values are checked for each
person, at a launch.
"""

from __future__ import annotations

from typing import Any

from liquid.exceptions import OutputStreamLimitError

from campaigns.texts import liquid
from campaigns.texts.content import Content, is_personal, languages_of, on_platform
from campaigns.texts.options import without_variables
from campaigns.texts.recent import Recent
from notifications.fcm import options, payload, validation
from notifications.fcm.schema_check import FieldProblem
from notifications.fcm.sizes import TooBig
from notifications.gateway import Push


def problems_of(content: Content) -> dict[str, list[str]]:
    """The problems by the template's field. Each field must have been checked on its own before."""
    problems: dict[str, list[str]] = {}
    for language in ("", *languages_of(content)):
        for problem in _problems_in(content, language):
            lines = problems.setdefault(_field_of(problem), [])
            words = _words(problem)
            if words not in lines:
                lines.append(f"{language}: {words}" if language else words)
    return problems


def _problems_in(content: Content, language: str) -> list[FieldProblem]:
    """The problems on all platforms. If messages are too big, only the biggest is reported."""
    messages = [_make_message(content, language, platform) for platform in options.PLATFORMS]
    problems = [problem for message in messages for problem in validation.validate(message)]
    too_big = [problem for problem in problems if isinstance(problem, TooBig)]
    others = [problem for problem in problems if not isinstance(problem, TooBig)]
    return [*others, max(too_big, key=lambda problem: problem.size)] if too_big else others


def _make_message(content: Content, language: str, platform: str) -> dict[str, Any]:
    written = on_platform(content, language, platform)
    shared = without_variables({name: written[name] for name in ("image", "link", "options")})
    message = Push(
        reference="0:0",
        kind="token",
        address="somebody",
        platform=platform,
        title=_shortest(written["title"]),
        body=_shortest(written["body"]),
        image=shared["image"],
        link=shared["link"],
        data={key: _shortest(source) for key, source in written["data"].items()},
        options=options.parse(platform, shared["options"]),
        buttons=[
            {name: _shortest(text) for name, text in button.items()}
            for button in written.get("buttons", ())
        ],
    )
    return payload.as_fcm(message)


def _shortest(source: str) -> str:
    """The text with the shortest values: if it is too long even then, it is too long."""
    return _known(source) if is_personal(source) else source


def _filled(source: str) -> str:
    try:
        return liquid.parse(source).render(**dict.fromkeys(liquid.variables(source), "1"))
    except OutputStreamLimitError:
        return source
    except Exception:  # it may need values of another form; real people are checked later
        return "1"


# The same data is checked for each language and each platform.
_known = Recent(_filled, most=liquid.LETTERS_REMEMBERED)


def _field_of(problem: FieldProblem) -> str:
    """The template's field that has to be changed."""
    if isinstance(problem, TooBig):
        return "body"
    place = problem.field.removeprefix("message.")
    if place.endswith("image"):
        return "image"
    if place.endswith("fcm_options.link"):
        return "link"
    return "data" if place.startswith("data") else "options"


def _words(problem: FieldProblem) -> str:
    """The problem in words, with FCM's name of the field only if it is an option."""
    return str(problem) if _field_of(problem) == "options" else problem.text
