"""Guessing: limits wrong passwords and codes, by address, by account and by browser.

Tries from an unknown browser count against its address, the account, and the two together. A
browser in which this person logged in before (`known_browser.py`) has its own tries, and shares the
tries of all such browsers. So attackers cannot lock out the owner. Nothing here can be read back:
names and addresses are hashed, because people type passwords into the field for the name.
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
    """What a person may guess at."""

    PASSWORD = "password"
    CODE = "code"


class By(StrEnum):
    """What tries are counted by."""

    ADDRESS = "address"
    BOTH = "address and account"
    ACCOUNT = "account"
    BROWSER = "browser"
    BROWSERS = "known browsers of the account"
    RIGHT = "right ones of the account"


@dataclass(frozen=True)
class Limit:
    """How many wrong tries are allowed within so many seconds from the first. Then no try is
    allowed until these seconds are over."""

    most: int
    seconds: int


QUARTER = 15 * 60
LIMITS = {
    Kind.PASSWORD: {
        By.ADDRESS: Limit(20, QUARTER),
        By.BOTH: Limit(10, QUARTER),
        By.ACCOUNT: Limit(50, 5 * 60),  # short: with this limit, attackers can delay the owner
        By.BROWSER: Limit(10, QUARTER),
        By.BROWSERS: Limit(50, QUARTER),
        # Checking a right password costs as much, and one account must not make others wait.
        By.RIGHT: Limit(30, 5 * 60),
    },
    # Three of a million codes are right at any time. An attacker with the password has 960 tries
    # a day.
    Kind.CODE: {
        By.ADDRESS: Limit(20, QUARTER),
        By.BOTH: Limit(5, QUARTER),
        By.ACCOUNT: Limit(10, QUARTER),
        By.BROWSER: Limit(5, QUARTER),
        By.BROWSERS: Limit(10, QUARTER),
    },
}
NOTED = Limit(100, 3600)  # entries in the audit trail: an attack must not fill it up
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
DELETE FROM notifications_guesses WHERE key = ANY(ARRAY(
    SELECT key FROM notifications_guesses WHERE ends_at < statement_timestamp()
    ORDER BY ends_at LIMIT %s FOR UPDATE SKIP LOCKED))
"""


class LockedOut(Exception):
    """No password or code is checked for so many seconds, not even the right one.

    `is_wrong`: there were too many wrong tries; else there were too many right ones.
    """

    def __init__(self, kind: Kind, seconds: int, *, is_wrong: bool = True) -> None:
        super().__init__(f"too many {'wrong' if is_wrong else 'right'} {kind}s: {seconds} s")
        self.kind, self.is_wrong = kind, is_wrong
        self.seconds = max(1, seconds)


class Guesses(models.Model):
    """The number of wrong tries since the first one, under a hashed key."""

    key = models.CharField(max_length=64, primary_key=True)
    wrong = models.IntegerField()
    ends_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.wrong} wrong until {self.ends_at}"


@dataclass(frozen=True)
class Counted:
    wrong: int
    seconds_left: int


class Attempt:
    """One try of a password or code. It is counted before it is checked, so simultaneous tries
    cannot pass the limit. If the process dies in between: one wrong try too many is counted.
    """

    def __init__(self, request: HttpRequest, kind: Kind, user: User | None, name: str = "") -> None:
        """Count the try. Raises LockedOut. `name`: the typed name, if no user has it."""
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
        with transaction.atomic():  # a refused try is not counted, and does not prolong a lockout
            found = _count({key: limits[by].seconds for by, key in self._keys.items()})
            counts = {by: found[key] for by, key in self._keys.items()}
            over = {by: count for by, count in counts.items() if count.wrong > limits[by].most}
            if over:
                seconds = max(count.seconds_left for count in over.values())
                raise LockedOut(self.kind, seconds, is_wrong=over.keys() != {By.RIGHT})
        return counts

    @property
    def _own_tries(self) -> int:
        """The tries for this account from this browser or address."""
        return (self._counted.get(By.BROWSER) or self._counted[By.BOTH]).wrong

    def record_success(self) -> int:
        """Undo the count, and reset the tries for this account from this browser or address.
        Returns how many wrong ones came before."""
        for by, key in self._keys.items():  # one statement each: never wait while holding a lock
            if by is By.RIGHT:
                self._warn_at_last(by)
                continue
            row = Guesses.objects.filter(key=key)
            if by in (By.BOTH, By.BROWSER):
                row.delete()
            else:
                row.update(wrong=models.F("wrong") - 1)
        return self._own_tries - 1

    def _warn_at_last(self, by: By) -> None:
        if self._counted[by].wrong == LIMITS[self.kind][by].most:
            log.warning(
                "too many right %ss of user %s: none is looked at for %s s, the last from %s",
                *(self.kind, self.user, self._counted[by].seconds_left, origin.address()),
            )

    def record_failure(self) -> None:
        """Keep the count. Raises LockedOut if it was the last try."""
        limits = LIMITS[self.kind]
        if right := self._keys.get(By.RIGHT):
            Guesses.objects.filter(key=right).update(wrong=models.F("wrong") - 1)
        if self.user and self._own_tries == 1:
            _note(f"refused a wrong {self.kind} for", self.user)
        spent = {by for by, one in self._counted.items() if one.wrong >= limits[by].most}
        spent.discard(By.RIGHT)
        for by in spent:
            self._tell(by)
        if spent:
            raise LockedOut(self.kind, max(self._counted[by].seconds_left for by in spent))

    def _tell(self, by: By) -> None:
        """Log a lockout. Do not log a name that no user has: it may be a password."""
        count = self._counted[by]
        whom = f"user {self.user.get_username()}" if self.user else "a name that nobody has"
        who = f"address {self._address}" if by is By.ADDRESS else whom
        log.warning(
            "locked out for %s s: %s, after %s wrong %ss, the last from %s (limit by %s)",
            *(count.seconds_left, who, count.wrong, self.kind, origin.address(), by),
        )
        if self.user or by is By.ADDRESS:
            place = Subject(ADDRESS, name=self._address)
            _note("locked out", place if by is By.ADDRESS else self.user, wrong=count.wrong)


def _key(*parts: str) -> str:
    return salted_hmac("guessing", "\n".join(parts), algorithm="sha256").hexdigest()


def _count(seconds: dict[str, int]) -> dict[str, Counted]:
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [list(seconds), list(seconds.values())])
        counts = {key: Counted(wrong, left) for key, wrong, left in cursor.fetchall()}
        if any(count.wrong == 1 for count in counts.values()):
            cursor.execute(FORGET, [FORGOTTEN_AT_ONCE])
    return counts


def _note(action: str, subject: Any, **detail: Any) -> None:
    key = _key("noted")
    if _count({key: NOTED.seconds})[key].wrong <= NOTED.most:
        audit.record("carillon", action, subject, project=None, **detail)
