"""Would FCM take this template? Judged on a made-up person, in every language, on every platform.

Judged is what all people share; what is a person's own is checked for that person, at a launch.
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
    """By the template's field. Its parts must have been found in order one by one."""
    found: dict[str, list[str]] = {}
    for language in ("", *languages_of(content)):
        for problem in _problems_in(content, language):
            said = found.setdefault(_field_of(problem), [])
            words = _words(problem)
            if words not in said:
                said.append(f"{language}: {words}" if language else words)
    return found


def _problems_in(content: Content, language: str) -> list[FieldProblem]:
    """On every platform; a text that is too long is too long once, where it is longest."""
    messages = [_made_up(content, language, platform) for platform in options.PLATFORMS]
    problems = [problem for message in messages for problem in validation.validate(message)]
    too_big = [problem for problem in problems if isinstance(problem, TooBig)]
    others = [problem for problem in problems if not isinstance(problem, TooBig)]
    return [*others, max(too_big, key=lambda problem: problem.size)] if too_big else others


def _made_up(content: Content, language: str, platform: str) -> dict[str, Any]:
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
            {name: _shortest(text) for name, text in one.items()}
            for one in written.get("buttons", ())
        ],
    )
    return payload.as_fcm(message)


def _shortest(source: str) -> str:
    """The text of a person with the shortest values: what is too long even so is too long."""
    return _known(source) if is_personal(source) else source


def _filled(source: str) -> str:
    try:
        return liquid.parse(source).render(**dict.fromkeys(liquid.variables(source), "1"))
    except OutputStreamLimitError:
        return source
    except Exception:  # it may need values of another form; whoever has them is asked later
        return "1"


# The same data stands in each language, on each platform.
_known = Recent(_filled, most=liquid.LETTERS_REMEMBERED)


def _field_of(problem: FieldProblem) -> str:
    """Which of the template's fields is to be changed."""
    if isinstance(problem, TooBig):
        return "body"
    place = problem.field.removeprefix("message.")
    if place.endswith("image"):
        return "image"
    if place.endswith("fcm_options.link"):
        return "link"
    return "data" if place.startswith("data") else "options"


def _words(problem: FieldProblem) -> str:
    """With FCM's name of the field only where it is not the page's own."""
    return str(problem) if _field_of(problem) == "options" else problem.text
