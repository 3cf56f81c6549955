"""Platform options: a closed list of what a message may set for one platform, besides its texts.

A row says how people write the value and where it goes in FCM's JSON. The payload, the check when a
template is saved and the list on its page all use these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.fcm import rules
from notifications.values.text import unstorable

REFERENCE_KEY = "carillon_id"  # the id of this push for the app
BUTTONS_KEY = "carillon_buttons"  # for an app that draws the buttons; it has their links
TEST_KEY = "carillon_test"  # marks a test send, whose results are not counted
RECEIPT_KEY = "carillon_receipt"  # the id that the app sends back with its receipts
MAX_ACTIONS = 3  # browsers show two, some three


class Unreadable(ValueError):
    """A value is not valid. `words` say what is valid, `inner` says where inside the value."""

    def __init__(self, words: str, inner: str = "") -> None:
        super().__init__(words)
        self.words, self.inner = words, inner


@dataclass(frozen=True, slots=True)
class Kind:
    """How a value is written: `read` returns it in its own type or raises Unreadable."""

    read: Callable[[Any], Any]
    personal: bool = True  # whether a text that is rendered for each person may take its place


@dataclass(frozen=True, slots=True)
class Option:
    """One option: what it is for, how it is written, and its place and form in FCM's JSON."""

    words: str | Promise
    kind: Kind
    place: tuple[str, ...] = ()  # below the platform's block; empty: `payload.py` places it
    wire: Callable[[Any], Any] = lambda value: value


# --- How a value is written -----------------------------------------------------------------------


def text(rule: rules.Rule | None = None) -> Kind:
    def read(value: Any) -> str:
        if type(value) is not str:
            raise Unreadable(gettext("must be a text in quotes."))
        if value and rule and (words := rule(value)):
            raise Unreadable(words)
        return value

    return Kind(read)


def choice(*known: str) -> Kind:
    return text(rules.one_of(*known))


def whole(least: int, most: int) -> Kind:
    """Make a kind for whole numbers. A text that becomes one is fine: a badge may be a person's own
    count, or empty."""

    def read(value: Any) -> int | str:
        if value == "":
            return ""
        number = int(value) if type(value) is str and value.strip().isdecimal() else value
        if type(number) is not int or not least <= number <= most:
            text = gettext("must be a whole number from %(least)s to %(most)s, not “%(value)s”.")
            raise Unreadable(text % {"least": least, "most": f"{most:,}", "value": value})
        return number

    return Kind(read)


def number_of(*known: int) -> Kind:
    def read(value: Any) -> int:
        if type(value) is not int or value not in known:
            text = gettext("must be one of %(known)s, without quotes.")
            raise Unreadable(text % {"known": ", ".join(map(str, known))})
        return value

    return Kind(read, personal=False)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise Unreadable(gettext("must be true or false, without quotes."))
    return value


def _share(value: Any) -> Any:
    if words := rules.share(value):
        raise Unreadable(words)
    return value


def _texts(value: Any) -> dict[str, str]:
    if type(value) is not dict:
        raise Unreadable(gettext('must be an object of texts, e.g. {"screen": "offers"}.'))
    for key, inner in value.items():
        if type(inner) is not str:
            raise Unreadable(gettext("FCM takes texts only; write it in quotes."), f".{key}")
        if words := data_key(key):
            raise Unreadable(words)
    return value


def data_key(key: str) -> str:
    """Return why this key may not be used in the data; empty if it may."""
    if key.lower() in (REFERENCE_KEY, RECEIPT_KEY, TEST_KEY, BUTTONS_KEY):
        return gettext("%(key)s: this key is Carillon's own; choose another.") % {"key": key}
    return unstorable(key) or rules.data_key(key)


def _custom_keys(value: Any) -> dict[str, str]:
    if "aps" in _texts(value):
        raise Unreadable(gettext("aps: this key is Apple's; its values have options of their own."))
    return dict(value)


def _actions(value: Any) -> list[dict[str, str]]:
    if type(value) is not list or not all(type(item) is dict for item in value):
        raise Unreadable(gettext('must be a list, e.g. [{"action": "open", "title": "Open"}].'))
    if len(value) > MAX_ACTIONS:
        text = gettext("has %(count)s actions; browsers show at most %(most)s.")
        raise Unreadable(text % {"count": len(value), "most": MAX_ACTIONS})
    for number, item in enumerate(value):
        if missing := {"action", "title"} - item.keys():
            text = gettext("needs %(name)s as well.") % {"name": sorted(missing)[0]}
            raise Unreadable(text, f"[{number}]")
        for name, inner in item.items():
            if name not in ACTION:
                text = gettext("%(name)s: an action has action, title, icon.") % {"name": name}
                raise Unreadable(text, f"[{number}]")
            try:
                ACTION[name].read(inner)
            except Unreadable as error:
                raise Unreadable(error.words, f"[{number}].{name}") from None
    return value


ACTION = {"action": text(), "title": text(), "icon": text(rules.https)}
flag, share = Kind(_flag, personal=False), Kind(_share, personal=False)
texts, custom_keys, actions = Kind(_texts), Kind(_custom_keys), Kind(_actions)

# --- The list -------------------------------------------------------------------------------------

DATA = Option(_("Texts for the app on this platform, instead of the common ones"), texts)
DATA_ONLY = Option(
    _("The app builds the notification itself, from title and body in the data"), flag
)

ANDROID = {
    "channel_id": Option(_("Notification channel"), text(), ("notification", "channel_id")),
    "priority": Option(_("high wakes the phone, normal waits"), choice("high", "normal"),
                       ("priority",), str.upper),
    "tag": Option(_("A newer one with the same tag replaces it"), text(), ("notification", "tag")),
    "collapse_key": Option(
        _("Of data-only messages, only the last is kept for a phone that is off"),
        text(), ("collapse_key",)),
    "click_action": Option(_("Intent to open"), text(), ("notification", "click_action")),
    "icon": Option(_("A drawable resource of the app"), text(), ("notification", "icon")),
    "color": Option(_("Colour of the icon, #RRGGBB"), text(rules.colour),
                    ("notification", "color")),
    "sound": Option(_("A file of the app, or default"), text(), ("notification", "sound")),
    "ticker": Option(_("Read out by screen readers"), text(), ("notification", "ticker")),
    "visibility": Option(_("On the lock screen"), choice("private", "public", "secret"),
                         ("notification", "visibility"), str.upper),
    "notification_count": Option(_("Number on the app's icon"), whole(0, 2**31 - 1),
                                 ("notification", "notification_count")),
    "sticky": Option(_("Stays when tapped"), flag, ("notification", "sticky")),
    "local_only": Option(_("Not on watches and other bridged devices"), flag,
                         ("notification", "local_only")),
    "restricted_package_name": Option(_("Only this app's package"), text(),
                                      ("restricted_package_name",)),
    "direct_boot_ok": Option(_("Also before the phone is unlocked"), flag, ("direct_boot_ok",)),
    "data": DATA,
    "data_only": DATA_ONLY,
}  # fmt: skip
APS = ("payload", "aps")
IOS = {
    "badge": Option(_("Number on the app's icon; 0 removes it"), whole(0, 99_999), (*APS, "badge")),
    "sound": Option(_("A file of the app; empty for none"), text(), (*APS, "sound")),
    "mutable_content": Option(_("Lets the app change it before it is shown"), flag,
                              (*APS, "mutable-content"), int),
    "content_available": Option(_("Wakes the app in the background"), flag,
                                (*APS, "content-available"), int),
    "category": Option(_("Buttons the app registered"), text(), (*APS, "category")),
    "thread_id": Option(_("Grouped with others of the same thread"), text(), (*APS, "thread-id")),
    "interruption_level": Option(
        _("How much it may disturb"), choice("passive", "active", "time-sensitive", "critical"),
        (*APS, "interruption-level")),
    "relevance_score": Option(_("0 to 1: place in the summary"), share, (*APS, "relevance-score")),
    "collapse_id": Option(_("A newer message with the same id replaces it"),
                          text(rules.collapse_id),
                          ("headers", "apns-collapse-id")),
    "priority": Option(_("10: at once; 5: when it saves battery; 1: saves the most battery"),
                       number_of(10, 5, 1), ("headers", "apns-priority"), str),
    "data": Option(_("Texts for the app on iOS, beside the common ones"), custom_keys),
    "data_only": Option(_("Not shown: wakes the app, with title and body in the data"), flag),
}  # fmt: skip
WEB = {
    "icon": Option(_("https address"), text(rules.https), ("notification", "icon")),
    "badge": Option(_("https address of a small, one-coloured icon"), text(rules.https),
                    ("notification", "badge")),
    "actions": Option(_('Buttons: [{"action": "open", "title": "Open"}]'), actions,
                      ("notification", "actions")),
    "urgency": Option(_("How much battery it may cost"),
                      choice("very-low", "low", "normal", "high"), ("headers", "Urgency")),
    "topic": Option(_("A newer message with the same topic replaces it while it waits"),
                    text(rules.push_topic), ("headers", "Topic")),
    "tag": Option(_("A newer one with the same tag replaces it"), text(), ("notification", "tag")),
    "dir": Option(_("Direction of the text"), choice("auto", "ltr", "rtl"),
                  ("notification", "dir")),
    "lang": Option(_("Language of the text"), text(), ("notification", "lang")),
    "renotify": Option(_("Rings again when it replaces a notification"), flag,
                       ("notification", "renotify")),
    "require_interaction": Option(_("Stays until somebody acts"), flag,
                                  ("notification", "requireInteraction")),
    "silent": Option(_("No sound, no vibration"), flag, ("notification", "silent")),
    "data": DATA,
    "data_only": DATA_ONLY,
}  # fmt: skip
PLATFORMS: Mapping[str, Mapping[str, Option]] = {"android": ANDROID, "ios": IOS, "web": WEB}


def parse(platform: str, written: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the options of one platform. Raises Unreadable, which names the option."""
    allowed, values = PLATFORMS[platform], {}
    for name, value in written.items():
        try:
            values[name] = allowed[name].kind.read(value)
        except Unreadable as error:
            raise Unreadable(error.words, f"{name}{error.inner}") from None
    return values
