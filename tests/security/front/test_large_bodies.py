"""Too much at once is refused before it is kept; what the API takes still gets in."""

from __future__ import annotations

import json

import pytest

from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.given.waiting import eventually
from tests.security import asking
from tests.security.conftest import Start, Web
from tests.security.front.slow import callers, heard, memory_of, post, waiting

MEGABYTE = 1024 * 1024
FORM = "Content-Type: multipart/form-data; boundary=x"
FILE = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
PIECE = b"x" * MEGABYTE


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_200_mb_from_a_stranger_are_refused_and_kept_nowhere(start: Start, chunked: bool) -> None:
    web = start()
    assert web.answers()
    before = memory_of(web.pid)
    said = pour(web, chunked)
    assert said.startswith(b"HTTP/1.1 413 ")
    assert b"Without a log-in or an API key at most 65,536 bytes" in said
    assert list(web.temporary.iterdir()) == []
    assert memory_of(web.pid) - before < 10 * MEGABYTE
    assert web.answers()


def pour(web: Web, chunked: bool) -> bytes:
    """All of it, or as much as is taken; what was said to it."""
    head = post("/admin/login/", 200 * MEGABYTE, FORM, sent=b"")
    if chunked:
        head = head.replace(b"Content-Length: 209715200", b"Transfer-Encoding: chunked")
    with callers(web.url, 1, head) as (caller,):
        try:
            for piece in (FILE, *[PIECE] * 200):
                caller.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        except ConnectionError:
            pass
        return heard(caller)


def test_8_mb_with_a_key_are_taken(start: Start, project: Project) -> None:
    web = start()
    body = padded({"contacts": [{"external_id": "ada"}]}, 8 * MEGABYTE)
    answer = asking.post(f"{web.url}/api/v1/contacts/bulk", body, headers=with_key(project))
    assert (answer.status, answer.json["created"]) == (200, 1)
    assert Contact.objects.get().external_id == "ada"


COOKIE = {"Cookie": "sessionid=anything"}
KEY = {"Authorization": "Bearer anything"}


@pytest.mark.parametrize(
    ("path", "shown", "most"),
    [
        ("/admin/login/", COOKIE, MEGABYTE),
        ("/admin/login/", {**COOKIE, **KEY}, MEGABYTE),
        ("/admin/login/", KEY, 65_536),
        ("/api/v1/contacts/bulk", COOKIE, 65_536),
    ],
    ids=["cookie", "cookie and key", "key", "cookie, to the API"],
)
def test_only_the_api_takes_large_bodies_and_only_with_a_key(
    start: Start, path: str, shown: dict[str, str], most: int
) -> None:
    web = start()
    headers = {**shown, "Content-Type": "application/x-www-form-urlencoded"}
    for size, refused in ((most, False), (most + 1, True)):
        answer = asking.post(f"{web.url}{path}", b"a=".ljust(size, b"x"), headers=headers)
        assert (answer.status == 413) is refused
    assert f"at most {most:,} bytes can be sent at once" in answer.text.lower()


def test_ten_thousand_ids_from_a_page_are_taken(start: Start) -> None:
    web = start()
    ids = "%0D%0A".join(f"customer-{number:08}-of-seoul-9f1c27" for number in range(10_000))
    headers = {**COOKIE, "Content-Type": "application/x-www-form-urlencoded"}
    answer = asking.post(f"{web.url}/admin/login/", f"ids={ids}".encode(), headers=headers)
    assert answer.status == 403, "let in, and without a token"


def test_a_body_in_chunks_is_taken_by_the_api(start: Start, project: Project) -> None:
    web = start()
    body = iter([b'{"contacts": [{"external', b'_id": "ada"}]}'])
    answer = asking.post(f"{web.url}/api/v1/contacts/bulk", body, headers=with_key(project))
    assert (answer.status, answer.json["created"]) == (200, 1)


def test_beyond_8_mb_the_api_answers_with_a_problem(start: Start, project: Project) -> None:
    web = start()
    for body in (padded({}, 8 * MEGABYTE + 1), iter([b" " * MEGABYTE] * 9)):
        url, headers = f"{web.url}/api/v1/contacts/bulk", with_key(project)
        answer = asking.post(url, body, headers={**headers, "X-Request-ID": "mine"})
        assert_problem(answer, 413, "At most 8,388,608 bytes can be sent at once.")
        assert answer.headers["X-Request-ID"] == "mine"
    assert not Contact.objects.exists()


def test_a_slow_program_is_told_by_a_problem(start: Start, project: Project) -> None:
    web = start(body_seconds=1)
    key = f"Authorization: Bearer {with_key(project)['Authorization'].split()[1]}"
    with callers(web.url, 1, post("/api/v1/contacts/bulk", 100, key)) as (caller,):
        said = heard(caller)
    assert said.startswith(b"HTTP/1.1 408 ") and b"application/problem+json" in said
    assert b"had not arrived completely after 1 seconds" in said


def test_a_refused_form_is_told_in_the_readers_language(start: Start) -> None:
    web = start()
    headers = {"Accept-Language": "ko"}
    answer = asking.post(f"{web.url}/admin/login/", PIECE, headers=headers)
    assert answer.status == 413
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Content-Language"] == "ko"


def test_half_sent_bodies_give_way_to_others_when_there_is_no_room(
    start: Start, project: Project
) -> None:
    web = start(memory=MEGABYTE, body_seconds=600)
    half = post("/admin/login/", 65_000, sent=b"x" * 60_000)
    with callers(web.url, 40, half) as slow:
        eventually("some gave way", lambda: waiting(slow) < 20)
        assert [waiting([caller]) for caller in slow[:20]] == [0] * 20, "the eldest first"
        assert heard(slow[0]).startswith(b"HTTP/1.1 408 ")
        body = padded({"contacts": [{"external_id": "ada"}]}, MEGABYTE // 2)
        url = f"{web.url}/api/v1/contacts/bulk"
        assert asking.post(url, body, headers=with_key(project)).status == 200


def test_the_slowest_give_way_to_others_when_there_is_no_place(start: Start) -> None:
    web = start(places=20, body_seconds=600)
    with callers(web.url, 40, post("/admin/login/", 1000)) as slow:
        eventually("half of them gave way", lambda: waiting(slow) == 20)
        early = next(caller for caller in slow if not waiting([caller]))
        assert heard(early).startswith(b"HTTP/1.1 408 ")
        assert web.answers()


def padded(value: object, size: int) -> bytes:
    return json.dumps(value).encode().ljust(size)


def with_key(project: Project) -> dict[str, str]:
    key = ApiKey.issue(project, "a", None)[1]
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def assert_problem(answer: asking.Answer, status: int, words: str) -> None:
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["status"] == status
    assert words in answer.json["detail"]
