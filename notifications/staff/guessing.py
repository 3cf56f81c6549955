"""Guessing: how many wrong passwords and codes are taken, from where and at which account.

A stranger's browser has the tries of its address, of the account, and of the two together. One in
which this person logged in before (`known_browser.py`) has tries of its own, and a share of those
that all such browsers have: whatever strangers do, its owner is not locked out. Nothing here can be
read back: names and addresses are kept hashed, for people type passwords into the field for the
name.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, models, transaction
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from notifications.requests import origin
from notifications.staff import audit, known_browser
from notifications.staff.subjects import ADDRESS, Subject

log = logging.getLogger(__name__)


class Kind(StrEnum):
    """What is guessed."""

    PASSWORD = "password"
    CODE = "code"


class By(StrEnum):
    """What the tries are counted by."""

    ADDRESS = "address"
    BOTH = "address and account"
    ACCOUNT = "account"
    BROWSER = "browser"
    BROWSERS = "known browsers of the account"
    RIGHT = "right ones of the account"


@dataclass(frozen=True)
class Limit:
    """So many wrong ones, in so many seconds from the first of them; then none until these end."""

    most: int
    seconds: int


QUARTER = 15 * 60
LIMITS = {
    Kind.PASSWORD: {
        By.ADDRESS: Limit(20, QUARTER),
        By.BOTH: Limit(10, QUARTER),
        By.ACCOUNT: Limit(50, 5 * 60),  # short: it is the one by which strangers delay the owner
        By.BROWSER: Limit(10, QUARTER),
        By.BROWSERS: Limit(50, QUARTER),
        # To look at a right one costs as much, and an account must not keep the others waiting.
        By.RIGHT: Limit(30, 5 * 60),
    },
    # Three of a million are right at any time: 960 tries a day, by somebody with the password.
    Kind.CODE: {
        By.ADDRESS: Limit(20, QUARTER),
        By.BOTH: Limit(5, QUARTER),
        By.ACCOUNT: Limit(10, QUARTER),
        By.BROWSER: Limit(5, QUARTER),
        By.BROWSERS: Limit(10, QUARTER),
    },
}
NOTED = Limit(100, 3600)  # entries in the audit trail: an attack must not fill it
FORGOTTEN_AT_ONCE = 100

COUNT = """
INSERT INTO notifications_guesses AS kept (key, wrong, ends_at)
SELECT key, 1, statement_timestamp() + seconds * interval '1 second'
FROM unnest(%s::text[], %s::integer[]) AS given (key, seconds) ORDER BY key
ON CONFLICT (key) DO UPDATE SET
    wrong = CASE WHEN kept.ends_at > statement_timestamp() THEN kept.wrong + 1 ELSE 1 END,
    ends_at = CASE WHEN kept.ends_at > statement_timestamp() THEN kept.ends_at
              ELSE excluded.ends_at END
RETURNING key, wrong, ceil(extract(epoch FROM ends_at - statement_timestamp()))::integer
"""
FORGET = """
DELETE FROM notifications_guesses WHERE key IN (
    SELECT key FROM notifications_guesses WHERE ends_at < statement_timestamp()
    ORDER BY ends_at LIMIT %s FOR UPDATE SKIP LOCKED)
"""


class LockedOut(Exception):
    """No more is looked at for so many seconds, not even the right one.

    `is_wrong`: whether wrong ones were too many, or right ones.
    """

    def __init__(self, kind: Kind, seconds: int, *, is_wrong: bool = True) -> None:
        super().__init__(f"too many {'wrong' if is_wrong else 'right'} {kind}s: {seconds} s")
        self.kind, self.is_wrong = kind, is_wrong
        self.seconds = max(1, seconds)


class Guesses(models.Model):
    """How many wrong ones were there, since the first of them?"""

    key = models.CharField(max_length=64, primary_key=True)
    wrong = models.IntegerField()
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.wrong} wrong until {self.ends_at}"


@dataclass(frozen=True)
class Counted:
    wrong: int
    seconds_left: int


class Try:
    """One password or code. It is counted before it is looked at: of any number of them that come
    at once, none slips by. A process that dies in between leaves one wrong try too many.
    """

    def __init__(self, request: HttpRequest, kind: Kind, user: User | None, name: str = "") -> None:
        """Raises LockedOut. `name`: what was typed, where it is nobody's."""
        self.kind, self.user = kind, user
        account = f"user {user.pk}" if user else f"name {name}"
        address = origin.neighbourhood(origin.address_of(request))
        browser = known_browser.id_of(request, user)
        self._keys = (
            {
                By.BROWSER: _key(kind, account, browser),
                By.BROWSERS: _key(kind, account, "known browsers"),
            }
            if browser
            else {
                By.ADDRESS: _key(kind, address),
                By.BOTH: _key(kind, address, account),
                By.ACCOUNT: _key(kind, account),
            }
        )
        if user and By.RIGHT in LIMITS[kind]:
            self._keys[By.RIGHT] = _key(kind, account, "right")
        self._address = address
        self._counted = self._begin()

    def _begin(self) -> dict[By, Counted]:
        limits = LIMITS[self.kind]
        with transaction.atomic():  # a try that is refused is not counted, nor prolongs anything
            found = _count({key: limits[by].seconds for by, key in self._keys.items()})
            counted = {by: found[key] for by, key in self._keys.items()}
            over = {by: one for by, one in counted.items() if one.wrong > limits[by].most}
            if over:
                seconds = max(one.seconds_left for one in over.values())
                raise LockedOut(self.kind, seconds, is_wrong=over.keys() != {By.RIGHT})
        return counted

    @property
    def _own(self) -> int:
        """Of this account, from here."""
        return (self._counted.get(By.BROWSER) or self._counted[By.BOTH]).wrong

    def was_right(self) -> int:
        """How many wrong ones came before it, from here."""
        for by, key in self._keys.items():  # one by one: nobody waits for two at once
            if by is By.RIGHT:
                self._warn_at_last(by)
                continue
            row = Guesses.objects.filter(key=key)
            if by in (By.BOTH, By.BROWSER):
                row.delete()
            else:
                row.update(wrong=models.F("wrong") - 1)
        return self._own - 1

    def _warn_at_last(self, by: By) -> None:
        if self._counted[by].wrong == LIMITS[self.kind][by].most:
            log.warning(
                "too many right %ss of user %s: none is looked at for %s s, the last from %s",
                *(self.kind, self.user, self._counted[by].seconds_left, origin.address()),
            )

    def was_wrong(self) -> None:
        """Raises LockedOut when it was the last."""
        limits = LIMITS[self.kind]
        if right := self._keys.get(By.RIGHT):
            Guesses.objects.filter(key=right).update(wrong=models.F("wrong") - 1)
        if self.user and self._own == 1:
            _note(f"refused a wrong {self.kind} for", self.user)
        spent = {by for by, one in self._counted.items() if one.wrong >= limits[by].most}
        spent.discard(By.RIGHT)
        for by in spent:
            self._tell(by)
        if spent:
            raise LockedOut(self.kind, max(self._counted[by].seconds_left for by in spent))

    def _tell(self, by: By) -> None:
        """What was typed for a name that is nobody's may be a password: it is told to none."""
        counted = self._counted[by]
        whom = f"user {self.user.get_username()}" if self.user else "a name that nobody has"
        who = f"address {self._address}" if by is By.ADDRESS else whom
        log.warning(
            "locked out for %s s: %s, after %s wrong %ss, the last from %s (limit by %s)",
            *(counted.seconds_left, who, counted.wrong, self.kind, origin.address(), by),
        )
        if self.user or by is By.ADDRESS:
            place = Subject(ADDRESS, name=self._address)
            _note("locked out", place if by is By.ADDRESS else self.user, wrong=counted.wrong)


def _key(*parts: str) -> str:
    return salted_hmac("guessing", "\n".join(parts), algorithm="sha256").hexdigest()


def _count(seconds: dict[str, int]) -> dict[str, Counted]:
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [list(seconds), list(seconds.values())])
        found = {key: Counted(wrong, left) for key, wrong, left in cursor.fetchall()}
        if any(one.wrong == 1 for one in found.values()):
            cursor.execute(FORGET, [FORGOTTEN_AT_ONCE])
    return found


def _note(action: str, subject: Any, **detail: Any) -> None:
    key = _key("noted")
    if _count({key: NOTED.seconds})[key].wrong <= NOTED.most:
        audit.record("carillon", action, subject, project=None, **detail)
