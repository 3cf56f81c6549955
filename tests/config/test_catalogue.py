"""The Korean catalogue says all that the pages say, and what is shipped is what was written."""

from __future__ import annotations

import ast
import gettext
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.apps import apps
from django.contrib import admin
from django.utils.translation import override
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = ROOT / "locale" / "ko" / "LC_MESSAGES"
SOURCES = [ROOT / name for name in ("config", "campaigns", "notifications")]
# Which arguments are words: the place of the context, if there is one, then of the message.
CALLS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), (None, 0)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (None, 0)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), (0, 1)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), (0, 1)),
}
Key = tuple[str | None, str]


def catalogue() -> list[Message]:
    return [message for message in read() if message.id]


def read() -> list[Message]:
    with (MESSAGES / "django.po").open("rb") as file:
        return list(read_po(file, locale="ko"))


def texts(said: str | tuple[str, ...] | list[str] | None) -> list[str]:
    return [said] if isinstance(said, str) else list(said or [""])


# --- What the sources say -----------------------------------------------------------------------


def in_python(source: str) -> Iterator[Key]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name not in CALLS:
            continue
        context, message = CALLS[name]
        words = [arg.value if isinstance(arg, ast.Constant) else None for arg in node.args]
        if len(words) > message and isinstance(words[message], str):
            yield (str(words[context]) if context is not None else None), str(words[message])


LITERAL = r"u?(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
IN_TEMPLATE = re.compile(
    rf"\b(?:(n?pgettext)\({LITERAL},\s*{LITERAL}|(?:n?gettext|_)\({LITERAL})", re.DOTALL
)


def in_template(source: str) -> Iterator[Key]:
    """Django itself turns a template into calls, for xgettext; read here without it."""
    for found in IN_TEMPLATE.finditer(templatize(source)):
        context, with_context, alone = found.groups()[1:]
        said = str(ast.literal_eval(alone or with_context))
        yield (str(ast.literal_eval(context)) if context else None), said


def in_sources() -> set[Key]:
    found: set[Key] = set()
    for folder in SOURCES:
        for path in folder.rglob("*.py"):
            found.update(in_python(path.read_text()))
    for path in (ROOT / "templates").rglob("*.html"):
        found.update(in_template(path.read_text()))
    return found


def test_the_reader_of_sources_finds_every_kind_of_mark() -> None:
    python = '_("a")\nngettext("b", "bs", 2)\npgettext("c", "d")\nx.gettext_lazy("e" "f")\n_(g)'
    assert set(in_python(python)) == {(None, "a"), (None, "b"), ("c", "d"), (None, "ef")}
    template = (
        '{% load i18n %}{% translate "a" %}{% translate "b" context "c" %}'
        "{% blocktranslate count n=x %}one “{{ n }}”{% plural %}many{% endblocktranslate %}"
        '{% include "t.html" with title=_("d") %}'
    )
    assert set(in_template(template)) == {
        (None, "a"),
        ("c", "b"),
        (None, "one “%(n)s”"),
        (None, "d"),
    }


# --- What the catalogue says --------------------------------------------------------------------


def test_the_catalogue_has_every_marked_text() -> None:
    written = {(message.context, texts(message.id)[0]) for message in catalogue()}
    marked = in_sources()
    assert len(marked) > 1_000
    assert marked - written == set(), "run `make messages`, and translate what is new"


def test_every_text_is_translated_and_none_is_a_guess() -> None:
    for message in catalogue():
        assert all(texts(message.string)), message.id
        assert not message.fuzzy, message.id


HANGUL = re.compile("[가-힣]")
# Names, and words that are the same in both.
SAME = {
    "API", "Android", "Data", "Firebase", "iOS", "%(did)s it", "{field: [before, after]}", "FCM",
    "CPU", "Slack",
}  # fmt: skip


def test_what_is_called_korean_is_korean() -> None:
    for message in catalogue():
        if message.context == "date format" or set(texts(message.id)) & SAME:
            continue
        for text in texts(message.string):
            letters = re.sub(r"%\(\w+\)s|%s|\{\w*\}|<[^>]*>", "", text)
            assert HANGUL.search(letters) or not re.search("[A-Za-z]", letters), text


# The glossary stands at the head of the catalogue. What one thing must not be called as well:
NOT_SO = {
    "일시 중지": "일시중지", "일시정지": "일시중지", "재개": "다시 시작", "휴대폰": "휴대전화",
    "인박스": "메시지함", "발송 금지": "수신 차단", "이 실행": "이 발송",
}  # fmt: skip
# Whoever a project sends to is a 고객. These are about people at the desk, or anybody.
ANYBODY = re.compile(
    "browser|log(ging)? in|second factor|password|secret|backend|started|role operator|Slack"
    "|somebody|launched by|meantime|a moment ago|needs a person|added by|^by$|^actor$",
    re.IGNORECASE,
)


def test_one_thing_has_one_name() -> None:
    for message in catalogue():
        asked, said = " ".join(texts(message.id)), " ".join(texts(message.string))
        assert not [word for word in NOT_SO if word in said], said
        assert "사람" not in said or ANYBODY.search(asked), said


PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[sd]|%%|\{\w*\}|</?\w+[^>]*>")


def test_placeholders_and_tags_survive_the_translation() -> None:
    for message in catalogue():
        # Of a plural, the sentence for many: “One chunk” need not hold the number.
        wanted = sorted(PLACEHOLDER.findall(texts(message.id)[-1]))
        for text in texts(message.string):
            assert sorted(PLACEHOLDER.findall(text)) == wanted, message.id


def test_what_is_shipped_was_made_of_what_was_written() -> None:
    compiled = io.BytesIO()
    with (MESSAGES / "django.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale="ko"))
    compiled.seek(0)
    with (MESSAGES / "django.mo").open("rb") as file:
        shipped = gettext.GNUTranslations(file)
    made = gettext.GNUTranslations(compiled)
    assert {key: said for key, said in entries(shipped).items() if key} == {
        key: said for key, said in entries(made).items() if key
    }


def entries(translations: gettext.GNUTranslations) -> dict[object, str]:
    found: dict[object, str] = translations._catalog  # type: ignore[attr-defined]
    return found


# --- Fields and rows, which no source names literally ------------------------------------------

OURS = [
    model
    for app in ("campaigns", "notifications")
    for model in apps.get_app_config(app).get_models()
    if model in admin.site._registry
]


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_every_field_of_a_page_has_a_korean_name(model: type) -> None:
    meta = model._meta  # type: ignore[attr-defined]
    with override("ko"):
        assert HANGUL.search(str(meta.verbose_name) + str(meta.verbose_name_plural))
        for field in meta.fields:
            if field.name != "id":
                assert HANGUL.search(str(field.verbose_name)), field.name
