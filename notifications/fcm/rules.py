"""Rules: what FCM and phones require of a single value, beyond its type.

Each rule takes a value of the right type. It returns in plain words what to change, or an empty
text if the value is valid. Templates are checked when they are saved, messages before they are
sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

Rule = Callable[[Any], str]

MAX_TTL = 2_419_200  # FCM's 28 days
LONGEST_LABEL = 50
LONGEST_COLLAPSE_ID = 64
RESERVED_KEYS = frozenset({"from", "message_type", "notification", "message_id", "collapse_key"})
# Google's pages name “gcm”, “gcm.” and “gcm.notification.”, and Android silently drops reserved
# keys. With the widest reading, no data is lost.
RESERVED_STARTS = ("google.", "gcm")
# Schemes that run code or read files on the phone instead of opening a page or an app.
DANGEROUS_SCHEMES = ("javascript:", "data:", "vbscript:", "file:", "http:")
EXACT_INTEGER = 2**53  # numbers of a Struct are doubles: larger ones lose digits


def matches(pattern: str, words: str | Promise) -> Rule:
    """Make a rule: the whole text must match this pattern."""
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: "" if compiled.fullmatch(text) else str(words)


def one_of(*known: str) -> Rule:
    return lambda text: "" if text in known else must_be_one_of(known)


def must_be_one_of(known: Iterable[str]) -> str:
    return gettext("must be one of %(known)s.") % {"known": ", ".join(known)}


def collapse_id(text: str) -> str:
    """Check the length, which counts UTF-8 bytes, not characters."""
    size = len(text.encode())
    if size <= LONGEST_COLLAPSE_ID:
        return ""
    message = gettext("has %(size)s bytes; at most %(most)s, says Apple.")
    return message % {"size": size, "most": LONGEST_COLLAPSE_ID}


colour = matches(r"#[0-9a-fA-F]{6}", gettext_lazy("must be a colour such as #1A73E8."))
label = matches(
    r"[a-zA-Z0-9\-_.~%]{1,50}",
    # xgettext:no-python-format
    gettext_lazy("1 to 50 of the letters a–z and A–Z, digits and - _ . ~ %; no spaces."),
)
push_topic = matches(r"[A-Za-z0-9\-_]{1,32}", gettext_lazy("1 to 32 letters, digits, - and _."))
topic = matches(
    r"[a-zA-Z0-9\-_.~%]{1,900}",
    # xgettext:no-python-format
    gettext_lazy("a topic has letters, digits and - _ . ~ % only."),
)
seconds_as_text = matches(r"\d{1,10}", gettext_lazy('must be seconds as a text, e.g. "3600".'))


# This matches nearly every address; the rest are parsed, which costs five times as much.
PLAIN_HTTPS = re.compile(r"https://[A-Za-z0-9.-]+(?::\d+)?(?:[/?#]|\Z)", re.ASCII)


def https(address: str) -> str:
    """Check an address that a phone fetches or a browser opens."""
    if PLAIN_HTTPS.match(address):
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return gettext("is not an address; write one such as https://example.com/a.png.")
    if parts.scheme != "https":
        return gettext("must be an https:// address: phones refuse anything else.")
    return "" if parts.netloc else gettext("has no host name; write https://example.com/…")


def image(address: str) -> str:
    return https(address) if address else ""


def link(address: str) -> str:
    """Check the link that a tap opens: a page, or a screen of the app."""
    if not address or PLAIN_HTTPS.match(address):
        return ""
    # Browsers skip spaces and control characters before and inside a scheme.
    compact = re.sub(r"[\x00-\x20]", "", address).lower()
    if compact.startswith(DANGEROUS_SCHEMES):
        return gettext("must be https://… or your app's own scheme, e.g. myapp://offers.")
    return https(address) if compact.startswith("https:") else ""


# As browsers parse it: a backslash ends the host as well.
BEFORE_THE_PATH = re.compile(r"https:[/\\]*([^/\\?#]*)")
TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def no_user(source: str) -> str:
    """Refuse a user name in a link: `https://shop.example@evil.example/` looks like the shop's.

    Only for texts that are saved, not for messages: runs that were launched before this rule go on.
    """
    compact = re.sub(r"[\x00-\x20]", "", TAG.sub("", source)).lower()
    found = BEFORE_THE_PATH.match(compact)
    if found is None or "@" not in found[1]:
        return ""
    return gettext("has a user name before “@”; write https://example.com/… without it.")


def data_key(key: str) -> str:
    lower = key.lower()
    if not key:
        return gettext("a key is empty; give it a name.")
    if lower in RESERVED_KEYS or lower.startswith(RESERVED_STARTS):
        return gettext("%(key)s: this key is reserved by FCM; choose another.") % {"key": key}
    return ""


def data_keys(data: Mapping[str, str]) -> str:
    return next((words for key in data if (words := data_key(key))), "")


def not_negative(number: float) -> str:
    return "" if number >= 0 else gettext("must not be negative.")


def ttl(duration: str) -> str:
    seconds = float(duration[:-1])
    if 0 <= seconds <= MAX_TTL:
        return ""
    return gettext('must be "0s" to "%(most)ss", which is 28 days.') % {"most": MAX_TTL}


def number(value: Any) -> str:
    if type(value) not in (int, float):
        return gettext("must be a number without quotes.")
    return "" if abs(value) <= EXACT_INTEGER else gettext("would lose digits; send it as a text.")


def share(value: Any) -> str:
    return number(value) or ("" if 0 <= value <= 1 else gettext("must be from 0 to 1."))


def text(value: Any) -> str:
    return "" if type(value) is str else gettext("must be a text in quotes.")


def one(value: Any) -> str:
    """Check a yes or no as Apple wants it."""
    return "" if type(value) is int and value in (0, 1) else gettext("must be 1 or 0.")


def texts_of(*known: str) -> Rule:
    chosen = one_of(*known)
    return lambda value: text(value) or chosen(value)
