"""A file is read in the encoding it was saved in: a guess to be seen, a choice, and no garbage."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from notifications import imports
from notifications.people.contact import Contact
from notifications.people.importing import sniffing
from notifications.people.importing.model import Import
from notifications.people.importing.reading import ENCODINGS, decoded, encoded_length
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.importing import bring_in, check, mapped, merge, reasons, upload
from tests.importing.packing import packed

PEOPLE = {
    "cp949": "김민준 서울특별시 이서연 부산광역시 박도윤 대구 최지우 경기도 성남시 정하준 똠방각하",
    "cp932": "佐藤さくら 東京都 鈴木はると 大阪府 高橋 名古屋 ｶﾌﾞｼｷ会社 北海道 ポイント 表示 ソニー",
    "gb18030": "王伟 北京市 李娜 上海市 张敏 广州 刘洋 深圳 陈静 成都 有限公司 龦",
    "cp950": "王偉 台北市 李娜 高雄市 張敏 台中 劉洋 新竹 陳靜 會員 有限公司 功能",
    "cp1251": "Иванов Москва Петров Казань Сидорова Новосибирск Дмитрий Екатеринбург",
    "cp1252": "Zoë Köln José Málaga François Orléans Søren Århus Müller Zürich €uro",
    "utf-8": "김민준 서울 佐藤 東京 Zoë Köln Иванов",
}


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def names(project: Project) -> list[object]:
    people = Contact.objects.filter(project=project).order_by("external_id")
    return [each.attributes.get("name") for each in people]


def table(words: list[str]) -> str:
    rows = "".join(f"u{number:02},{word}\r\n" for number, word in enumerate(words))
    return f"id,name\r\n{rows}"


@pytest.mark.parametrize("encoding", PEOPLE)
def test_the_encoding_is_detected_and_the_names_are_imported(shop: Project, encoding: str) -> None:
    words = PEOPLE[encoding].split()
    one = bring_in(shop, table(words).encode(encoding))
    (file,) = one.sniffed["files"]
    assert (file["encoding"], file["detected"], one.sniffed["encoding"]) == (encoding, encoding, "")
    assert (one.refused, names(shop)) == (0, words)


@pytest.mark.parametrize(
    ("saved_as", "found"),
    [("euc_kr", "cp949"), ("shift_jis", "cp932"), ("gb2312", "gb18030"), ("big5", "cp950"),
     ("latin-1", "cp1252"), ("utf-16", "utf-16-le")],
)  # fmt: skip
def test_what_is_part_of_another_encoding_is_read_as_that(
    shop: Project, saved_as: str, found: str
) -> None:
    words = [
        word
        for word in PEOPLE.get(found, PEOPLE["utf-8"]).split()
        if saved_as == "utf-16" or word.encode(saved_as, "ignore").decode(found, "ignore") == word
    ]
    one = bring_in(shop, table(words).encode(saved_as))
    assert one.sniffed["files"][0]["encoding"] == found
    assert (one.refused, names(shop)) == (0, words)


def test_names_behind_a_megabyte_of_plain_text_are_found(shop: Project) -> None:
    plain = "".join(f"p{number},{'x' * 1000}\n" for number in range(1_100))
    words = PEOPLE["cp949"].split()
    content = table(words).replace("\r\n", f"\n{plain}", 1).encode("cp949")
    one = bring_in(shop, content)
    assert one.sniffed["files"][0]["encoding"] == "cp949"
    assert (one.refused, names(shop)[-len(words) :]) == (0, words)


def test_names_too_far_behind_are_refused_by_line_until_their_encoding_is_chosen(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sniffing, "SAMPLE", 1_000)
    monkeypatch.setattr(sniffing, "LOOKED_AT", 2_000)
    plain = "".join(f"p{number},x\n" for number in range(1_000))
    one = check(mapped(upload(shop, f"id,name\n{plain}u1,서울\nu2,부산\n".encode("cp949"))))
    assert (one.rows, one.refused) == (1_002, 2)
    assert set(reasons(one)) == {1_002, 1_003}
    assert "Choose another encoding" in reasons(one)[1_002][1]

    imports.set_encoding(one, "cp949")
    assert (one.state, one.rows, one.refusals.count()) == ("ready", 0, 0)
    merge(mapped(one))
    assert (one.refused, names(shop)[-2:]) == (0, ["서울", "부산"])


@pytest.mark.parametrize("encoding", ["cp949", "cp932", "gb18030", "cp950"])
def test_a_wrong_byte_refuses_its_row_alone(shop: Project, encoding: str) -> None:
    words = PEOPLE[encoding].split() * 2
    content = table(words).encode(encoding) + b"bad,\x81\x7f\nhalf,\x81\nz,x\n"
    one = bring_in(shop, content)
    assert one.sniffed["files"][0]["encoding"] == encoding
    last = len(words) + 2
    assert set(reasons(one)) == {last, last + 1}
    assert names(shop) == [*words, "x"]


def test_a_file_in_utf_8_costs_no_detection(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniffing, "_likely", lambda cells: pytest.fail("asked"))
    content = table(PEOPLE["utf-8"].split()).encode() + b"bad,Z\xfcrich\n"
    assert upload(shop, content).sniffed["files"][0]["encoding"] == "utf-8"


def test_each_file_of_an_archive_has_its_own_encoding_unless_one_is_chosen(shop: Project) -> None:
    one = upload(
        shop,
        packed(
            ("a.csv", table(["김민준", "이서연", "박도윤"]).encode("cp949")),
            ("b.csv", "id,name\nz1,Zoë\n".encode()),
        ),
        name="people.zip",
    )
    assert [file["encoding"] for file in one.sniffed["files"]] == ["cp949", "utf-8"]
    imports.set_encoding(one, "cp1252")
    assert [file["encoding"] for file in one.sniffed["files"]] == ["cp1252", "cp1252"]
    assert [file["detected"] for file in one.sniffed["files"]] == ["cp949", "utf-8"]
    imports.set_encoding(one, "")
    merge(mapped(one))
    assert names(shop) == ["김민준", "이서연", "박도윤", "Zoë"]


def test_a_mark_at_the_beginning_is_no_text_in_the_encoding_it_stands_for(shop: Project) -> None:
    one = upload(shop, b"\xef\xbb\xbfid,name\nu1,Zo\xc3\xab\n")
    for encoding, head in (("utf-8", "id"), ("cp1252", "ï»¿id")):
        imports.set_encoding(one, encoding)
        assert one.sniffed["head"][0] == head


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("rot13", "Use one of utf-8, utf-16-le"),
        (None, "Use one of"),
        ("utf-16-be", "header but no rows"),
        ("utf-8", "The file is not in the encoding UTF-8. Choose another one."),
    ],
)
def test_what_cannot_be_chosen_is_refused_and_leaves_the_file_as_it_is(
    shop: Project, encoding: str, said: str
) -> None:
    one = upload(shop, table(PEOPLE["cp949"].split()).encode("cp949"))
    before = Import.objects.values().get()
    with pytest.raises(ValidationError, match=said):
        imports.set_encoding(one, encoding)
    assert Import.objects.values().get() == before


def test_an_encoding_is_chosen_before_the_import_begins(shop: Project) -> None:
    one = bring_in(shop, "id,name\nu1,Zoë\n")
    with pytest.raises((Import.InvalidMove, ValidationError)):
        imports.set_encoding(one, "cp949")
    assert names(shop) == ["Zoë"]


# --- Pieces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(
    pieces=st.lists(
        st.one_of(
            st.binary(max_size=6), st.sampled_from(["서울", "東京", "北京", "ｶ", "ë", "Ж", "€,\n"])
        ),
        max_size=8,
    ),
    at=st.integers(0, 40),
)
def test_any_bytes_are_read_in_two_pieces_as_in_one(
    encoding: str, pieces: list[bytes | str], at: int
) -> None:
    encode: Callable[[bytes | str], bytes] = lambda one: (  # noqa: E731
        one if isinstance(one, bytes) else one.encode(encoding, "ignore")
    )
    content = b"".join(map(encode, pieces))
    text = decoded(content, encoding, whole=True)
    assert "\ufffd" not in text.replace("\ufffd".encode("gb18030").decode("gb18030"), "")
    whole = len(content) - (len(content) % 2 if encoding.startswith("utf-16") else 0)
    assert encoded_length(text, encoding) == whole
    first = decoded(content[:at], encoding, whole=at >= len(content))
    rest = content[encoded_length(first, encoding) :]
    assert first + decoded(rest, encoding, whole=True) == text
