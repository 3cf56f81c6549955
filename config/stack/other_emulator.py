"""Settings of another stand-in for FCM than our emulator, when the environment names one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from config.stack import StackError

ADDRESSES = ("FCM_ENDPOINT", "FCM_TOKEN_URI")
FILES = ("FCM_CA_FILE", "FCM_SERVICE_ACCOUNT_FILE")


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The addresses and files of the other stand-in; empty when our emulator plays FCM.

    A mix of the two would sign with one what the other does not know.
    """
    named = {name: environ[name] for name in (*ADDRESSES, *FILES) if environ.get(name)}
    if missing := [name for name in ADDRESSES if named and name not in named]:
        own = "" if "FCM_CA_FILE" in named else ", and FCM_CA_FILE when its certificate is its own"
        raise StackError(
            f"With {', '.join(named)}, which is for another stand-in for FCM, set "
            f"{' and '.join(missing)} as well{own}. "
            f"Or unset {', '.join(named)}: make run brings an emulator along."
        )
    for name in FILES:
        if name in named and not Path(named[name]).is_file():
            raise StackError(f"{name}: there is no file {named[name]}.")
    return named
