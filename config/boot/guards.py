"""Start-up guards of production: they refuse weak keys, DEBUG, and stand-ins for FCM.

DEBUG would show too much, and with a stand-in messages would reach no phone. Staging refuses the
same, except for stand-ins.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.core.exceptions import ImproperlyConfigured

RECIPE = 'python3 -c "import secrets; print(secrets.token_urlsafe(48))"'
LEAST = {"SECRET_KEY": 50, "CREDENTIALS_KEY": 32}
MIN_DIFFERENT = 9  # characters; 32 random hexadecimal digits never have fewer
WORDS = ("insecure", "change", "example", "secret", "password")  # of examples, not of random keys


def require_strong_keys(*, secret_key: str, credentials_key: str, debug: bool) -> None:
    """Raise ImproperlyConfigured that names all weak settings, without any of their values."""
    # The first key seals. The keys behind it only open what it has not sealed yet.
    sealing = credentials_key.lstrip(", ").split(",")[0].strip()
    weak = [
        *_weakness("SECRET_KEY", secret_key),
        *(_weakness("CREDENTIALS_KEY", sealing, _how_to_replace()) if credentials_key else ()),
    ]
    if secret_key == sealing:
        weak.append(f"SECRET_KEY and CREDENTIALS_KEY are the same. Make two: {RECIPE}")
    if debug:
        weak.append("DEBUG shows every visitor the settings and the code. Unset it.")
    if weak:
        raise ImproperlyConfigured("\n".join(weak))


def refuse_stand_ins(**named: bool) -> None:
    """Refuse settings that name another FCM than Google's: each argument says whether one does."""
    if any(named.values()):
        names = ", ".join(name for name, is_stand_in in named.items() if is_stand_in)
        raise ImproperlyConfigured(
            f"Only a stand-in for FCM needs {names}. Unset that when CARILLON_ENV=production."
        )


def refuse_failpoint(point: str) -> None:
    """Refuse CARILLON_FAILPOINT, which only tests may set."""
    if point:
        raise ImproperlyConfigured(
            "CARILLON_FAILPOINT makes processes die on purpose. Unset it, or set CARILLON_ENV=test."
        )


def _weakness(name: str, value: str, hint: str = "") -> Iterator[str]:
    least = LEAST[name]
    if len(value) < least:
        characters = "character" if len(value) == 1 else "characters"
        text = f"{name} has {len(value)} {characters}, and {least} are the least"
        yield f"{text} in production and staging. Make one: {RECIPE}{hint}"
    elif _can_be_guessed(value):
        yield f"{name} can be guessed: a pattern, or a word of an example. Make one: {RECIPE}{hint}"


def _can_be_guessed(value: str) -> bool:
    repeats = value in (value + value)[1:-1]
    few = len(set(value)) < MIN_DIFFERENT
    return repeats or few or any(word in value.lower() for word in WORDS)


def _how_to_replace() -> str:
    return (
        "\nIf accounts are sealed with the old CREDENTIALS_KEY: put the new one in front of it, a"
        " comma between, run manage.py reseal, and take the old one away."
    )
