"""Settings of another stand-in for FCM than our emulator, when the environment names one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from config.stack import StackError

ADDRESSES = ("FCM_ENDPOINT", "FCM_TOKEN_URI")
FILES = ("FCM_CA_FILE", "FCM_SERVICE_ACCOUNT_FILE")


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The addresses and files of the other stand-in; empty when our emulator plays FCM.

    Both addresses must belong to the same stand-in: else the token of one is refused by the other.
    """
    values = {name: environ[name] for name in (*ADDRESSES, *FILES) if environ.get(name)}
    if missing := [name for name in ADDRESSES if values and name not in values]:
        hint = (
            "" if "FCM_CA_FILE" in values else ", and FCM_CA_FILE when its certificate is its own"
        )
        raise StackError(
            f"With {', '.join(values)}, which is for another stand-in for FCM, set "
            f"{' and '.join(missing)} as well{hint}. "
            f"Or unset {', '.join(values)}: make run brings an emulator along."
        )
    for name in FILES:
        if name in values and not Path(values[name]).is_file():
            raise StackError(f"{name}: there is no file {values[name]}.")
    return values
