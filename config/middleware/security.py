"""Security headers of every answer: what a browser may load, keep and pass on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.http import HttpRequest, HttpResponse


def policy(image_hosts: Iterable[str] = (), feed: str = "") -> str:
    """The Content-Security-Policy.

    It allows our own files, a project's own images, and the feed where that is elsewhere. Only our
    scripts run, and none of them turns a text into code: Alpine comes without eval.
    """
    images = "".join(f" https://{host}" for host in image_hosts)
    connect = f"connect-src 'self' {feed}; " if feed else ""
    return (
        f"default-src 'self'; {connect}script-src 'self'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data:{images}; object-src 'none'; base-uri 'none'; "
        "frame-ancestors 'none'; form-action 'self'"
    )


CONTENT_POLICY = policy()
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    # Pages show people, devices and keys: neither a proxy nor the browser's history may keep them.
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Of all that a page could ask a browser for, ours only use the clipboard.
    "Permissions-Policy": (
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), "
        "magnetometer=(), microphone=(), midi=(), payment=(), usb=()"
    ),
}


class SecurityHeaders:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response
