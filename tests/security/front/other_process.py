"""Another web process: so many calls with this key from this address, as its limiter sees them."""

from __future__ import annotations

import sys

import django

django.setup()


def main(now: str, times: str, key: str, address: str) -> None:
    from django.test import RequestFactory

    from config.middleware import rate_limits

    rate_limits.clock = lambda: now
    request = RequestFactory().get(
        "/api/v1/runs", headers={"Authorization": f"Bearer {key}"}, REMOTE_ADDR=address
    )
    for _ in range(int(times)):
        refused = rate_limits.limits_of_a_program(request).take().wait
        print("refused" if refused else "passed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
