"""Files for translators: out and back nothing is lost, and variables survive or are refused."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from campaigns.texts import liquid
from campaigns.texts.template import Template
from campaigns.texts.translating import as_csv, as_xliff, upload_changes
from campaigns.texts.translating.units import carried

NAMES = st.sampled_from(["first_name", "city", "order.number", "snippet.footer"])
# What spreadsheets and XML make of letters: signs of formulas, quotes, separators, line ends.
WORDS = st.text(alphabet="ab =+-@'\";,<>&|\t\n\r안é\u2028＝", max_size=12)
PIECES = st.lists(st.one_of(WORDS, NAMES.map(lambda name: f"{{{{ {name} }}}}")), max_size=5)
TEXTS = PIECES.map("".join).filter(lambda text: text and not liquid.problems(text))
KEYS = st.sampled_from(["screen", "a.b", "=sum", "-x"])


@st.composite
def templates(draw: Any) -> Template:
    """With languages whose texts say the variables of the main text, and some that say nothing."""
    main = {"title": draw(TEXTS), "body": draw(TEXTS)}
    data = draw(st.dictionaries(KEYS, TEXTS, max_size=2))
    locales: dict[str, Any] = {}
    for tag in draw(st.sets(st.sampled_from(["ko", "pt-BR", "de"]))):
        names = draw(st.sets(st.sampled_from(["title", "body"])))
        locales[tag] = {name: translated(main[name], draw(WORDS)) for name in names}
        if data:
            locales[tag]["data"] = {key: translated(data[key], draw(WORDS)) for key in data}
    return Template(**main, data=data, locales=locales)


def translated(source: str, words: str) -> str:
    """Other words around the same variables, in the other order."""
    found = [one[0] for one in as_xliff.TAG.finditer(source)]
    return words.join(["", *reversed(found), "x"])


def files(template: Template) -> dict[str, str]:
    content = template.written()
    return {
        "csv": as_csv.written(content, ["fr"]),
        "xliff": as_xliff.written(content, ["fr"], source="en", original="template-1"),
    }


@given(templates())
def test_what_goes_out_and_comes_back_changes_nothing(template: Template) -> None:
    for kind, file in files(template).items():
        proposal = upload_changes.propose(template, upload_changes.parse_file(kind, file.encode()))
        assert (proposal.changes, proposal.refused) == ([], []), kind
        assert proposal.locales == template.locales


@given(templates(), st.data())
def test_what_comes_into_an_empty_template_is_what_went_out(
    template: Template, data: st.DataObject
) -> None:
    for kind, file in files(template).items():
        empty = Template(title=template.title, body=template.body, data=template.data)
        proposal = upload_changes.propose(empty, upload_changes.parse_file(kind, file))
        assert proposal.refused == [], kind
        said = {tag: texts for tag, texts in template.locales.items() if texts}
        assert {tag: _carried(texts) for tag, texts in said.items()} == proposal.locales


def _carried(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _carried(inner) for key, inner in value.items()}
    return carried(value)


@given(TEXTS, TEXTS)
def test_a_translation_is_taken_exactly_when_its_variables_are_those_of_the_main_text(
    source: str, text: str
) -> None:
    template = Template(title=source, body="B")
    file = as_csv.written({**template.written(), "locales": {"ko": {"title": text}}})
    proposal = upload_changes.propose(template, upload_changes.parse_file("csv", file))
    if liquid.paths(source) == liquid.paths(carried(text)):
        assert proposal.locales == {"ko": {"title": carried(text)}}
        assert proposal.refused == []
    else:
        (refused,) = proposal.refused
        assert (refused.row, refused.id, refused.tag) == (2, "title", "ko")
        lost = liquid.paths(source) ^ liquid.paths(text)
        assert any(f"{{{{ {liquid.written(path)} }}}}" in refused.words for path in lost)
        assert proposal.locales == {}


def test_a_text_in_very_many_pieces_is_read_whole() -> None:
    """As tools mark it up; each piece is joined once."""
    target = "x<g/>" * 20_000
    file = f'<file target-language="de"><body><trans-unit id="title"><target>{target}</target>'
    text = f'<xliff xmlns="{as_xliff.SPACE}">{file}</trans-unit></body></file></xliff>'
    (cell,) = as_xliff.parse(text)
    assert cell.text == "x" * 20_000
