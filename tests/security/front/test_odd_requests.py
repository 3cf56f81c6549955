"""What no client of ours sends is refused in words, with the headers of every answer."""

from __future__ import annotations

from tests.roles.every_page import HEADERS
from tests.security import asking
from tests.security.conftest import Start, Web
from tests.security.front.slow import callers, get, heard, post

NO_TEXT = ("hex", "undefined", "idna", "unicode_escape", "utf-16", "nobodys")
PATHS = ("/admin/login/?a=%FF", "/api/v1/contacts?limit=1", "/readyz?x=1", "/static/x?b=1")
CLOSE = "Connection: close"
FORM = b'--x\r\nContent-Disposition: form-data; name="username"\r\n\r\nada\r\n--x--\r\n'
ZZ = b"\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n"


def test_a_charset_that_is_no_text_is_refused_by_name(start: Start) -> None:
    web = start()
    for charset in NO_TEXT:
        kind = f"Content-Type: application/json; charset={charset}"
        for path in PATHS:
            _assert_refused(said(web, get(path, kind, CLOSE)), "Content-Type")
        form = f"Content-Type: multipart/form-data; boundary=x; charset={charset}"
        sent = post("/admin/login/", len(FORM), form, CLOSE, sent=FORM)
        _assert_refused(said(web, sent), "Content-Type")
    assert "Traceback" not in web.log


def test_a_charset_that_clients_send_is_let_through(start: Start) -> None:
    url = f"{start().url}/admin/login/?a=%FF"
    for charset in ("utf-8", '"UTF-8"', "iso-8859-1", "us-ascii", "EUC-KR"):
        kind = {"Content-Type": f"text/plain; charset={charset}"}
        assert asking.ask("GET", url, headers=kind).status == 200, charset


def test_a_long_header_is_refused_by_name_before_it_is_parsed(start: Start) -> None:
    web = start()
    for name in ("Content-Type", "Accept"):
        for path in PATHS:
            answer = said(web, get(path, f"{name}: text/plain{';' * 1_000}", CLOSE))
            _assert_refused(answer, f"The header {name} is longer", status=431)
    assert "Traceback" not in web.log


def test_chunks_that_are_none_are_refused_in_words(start: Start) -> None:
    web = start()
    for path in ("/api/v1/contacts", "/admin/login/"):
        sent = get(path, CLOSE).replace(b"GET", b"POST").replace(b"\r\n\r\n", ZZ)
        _assert_refused(said(web, sent), "was cut off")
    assert "Traceback" not in web.log


def test_two_idempotency_keys_are_refused_and_not_joined(start: Start) -> None:
    twice = ("Idempotency-Key: a", "idempotency-key: b")
    sent = post("/api/v1/messages", 2, "Content-Type: application/json", *twice, CLOSE, sent=b"{}")
    answer = said(start(), sent)
    _assert_refused(answer, "is given twice; give it once.")
    assert '"field":"Idempotency-Key"' in answer


def test_what_the_front_refuses_has_the_headers_of_every_answer(start: Start) -> None:
    web = start(body_seconds=1)
    for path in ("/api/v1/contacts", "/admin/login/"):
        for length, status in ((10**9, 413), (5, 408)):
            answer = said(web, post(path, length, CLOSE, sent=b"a"))
            assert answer.startswith(f"HTTP/1.1 {status} ")
            _assert_guarded(answer)


def said(web: Web, request: bytes) -> str:
    with callers(web.url, 1, request) as (one,):
        return heard(one).decode()


def _assert_refused(answer: str, words: str, status: int = 400) -> None:
    assert answer.startswith(f"HTTP/1.1 {status} "), answer
    assert words in answer
    _assert_guarded(answer)


def _assert_guarded(answer: str) -> None:
    lines = answer.lower().partition("\r\n\r\n")[0].split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    wanted = {**HEADERS, "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin"}
    assert {name: headers.get(name.lower()) for name in wanted} == {
        name: value.lower() for name, value in wanted.items()
    }
    assert "x-request-id" in headers
