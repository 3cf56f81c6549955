"""Access tokens: the gateway asks for one before every request, and only one caller renews it.

In a process, the first request that finds a stale token renews it; the others wait or use the old
one. Between processes, a lock in Redis does the same. Without Redis, each process mints its own.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import time
from collections import deque
from contextlib import suppress

import redis

from notifications.gateway import BadCredentials
from notifications.keys.minting import Minted, Minter, TokenUnavailable
from notifications.keys.shared_token import (
    LOCK_SECONDS,
    REFRESH_AT,
    TROUBLE_SECONDS,
    Held,
    SharedToken,
    Turn,
)

LOOK_EVERY = 0.1  # while another process mints and we have nothing to send with
LOOK_AGAIN = 1.0  # while another process mints and the old token still serves
PATIENCE = LOCK_SECONDS + 4.0
MIN_LIFE = 1.0  # seconds of a token: one that expires at once would be renewed without end
# If FCM rejects more tokens than this within a minute, the token is not the problem: renewing on
# would only run into Google's rate limit, too.
MAX_REJECTIONS = 10
Trouble = BadCredentials | TokenUnavailable
NOTHING = Held(generation=0, token="", refresh_in=0.0, expires_in=0.0)


class AccessTokens:
    """The tokens of one key. `at_hand`, `current` and `reject` run only in the loop's thread."""

    def __init__(self, minter: Minter, *, shared: bool = True) -> None:
        self._minter = minter
        self._is_shared = shared
        self._holder = secrets.token_hex(8)
        self._held = NOTHING
        self._rejected = 0
        self._refresh_at = self._expires_at = 0.0
        self._rejections: deque[float] = deque(maxlen=MAX_REJECTIONS)
        self._trouble: Trouble | None = None
        self._trouble_until = 0.0
        self._renewing = asyncio.Lock()
        # A cancelled request leaves its thread running; the next one must not mint beside it.
        self._minting = threading.Lock()

    def at_hand(self) -> str:
        """Return the token if it can be used without renewing it, else an empty text."""
        now = time.monotonic()
        works = now < self._refresh_at or (self._renewing.locked() and now < self._expires_at)
        return self._held.token if works else ""

    async def current(self) -> str:
        """Return a token, renewed if necessary. Raises BadCredentials or TokenUnavailable."""
        if token := self.at_hand():
            return token
        async with self._renewing:  # the first request renews; the others find it done
            if time.monotonic() >= self._refresh_at:
                await asyncio.get_running_loop().run_in_executor(None, self._renew)
        return self._held.token

    def reject(self, token: str) -> None:
        """Drop a token that FCM refused. If 500 requests used it, the first refusal is enough."""
        current = self._held
        if token != current.token or self._rejected == current.generation:
            return
        now = time.monotonic()
        if len(self._rejections) == MAX_REJECTIONS and now - self._rejections[0] < 60:
            return
        self._rejections.append(now)
        self._rejected = current.generation
        self._refresh_at = self._expires_at = 0.0

    # --- In the executor's thread ----------------------------------------------------------------

    def _renew(self) -> None:
        with self._minting:
            now = time.monotonic()
            if now < self._refresh_at:
                return
            if self._trouble and now < self._trouble_until:
                self._note_trouble(self._trouble, self._trouble_until - now)
                return
            try:
                self._renew_with_the_others() if self._is_shared else self._renew_alone()
            except (BadCredentials, TokenUnavailable) as trouble:
                self._note_trouble(trouble, TROUBLE_SECONDS)

    def _renew_with_the_others(self) -> None:
        shared = SharedToken(self._minter.name, holder=self._holder)
        until = time.monotonic() + PATIENCE
        try:
            while not self._is_renewed(shared):
                if self._works:
                    return self._look_again_in(LOOK_AGAIN)
                if time.monotonic() > until:
                    raise TokenUnavailable("another process is renewing the token")
                time.sleep(LOOK_EVERY)
        except redis.RedisError:
            self._renew_alone()

    def _is_renewed(self, shared: SharedToken) -> bool:
        """Take the shared token, or mint if it is our turn. False: another process is minting."""
        look = shared.look(self._rejected)
        if look.held:
            self._adopt(look.held)
        if look.turn is Turn.TROUBLE:
            raise _trouble_from(look.trouble)
        if look.turn is Turn.MINT:
            self._mint_for_all(shared, look.next_generation)
        return look.turn is not Turn.WAIT

    def _mint_for_all(self, shared: SharedToken, generation: int) -> None:
        """If the process dies here, the lock runs out and another one mints."""
        try:
            minted = self._mint()
        except (BadCredentials, TokenUnavailable) as trouble:
            with suppress(redis.RedisError):
                shared.give_up(_trouble_to(trouble))
            raise
        self._adopt(_held(generation, minted))
        with suppress(redis.RedisError):  # we have it; the others will mint their own
            shared.keep(generation, minted)

    def _renew_alone(self) -> None:
        generation = max(int(time.time() * 1000), self._held.generation + 1)
        self._adopt(_held(generation, self._mint()))

    def _mint(self) -> Minted:
        minted = self._minter.mint()
        if not minted.token or minted.seconds < MIN_LIFE:
            raise TokenUnavailable("the token endpoint gave a token that cannot be used")
        return minted

    def _adopt(self, token: Held) -> None:
        now = time.monotonic()
        # Stop before it expires: a request that leaves with it must still be valid on arrival.
        margin = min(10.0, token.expires_in * 0.1)
        self._held = token
        self._expires_at = now + token.expires_in - margin
        self._refresh_at = min(now + token.refresh_in, self._expires_at)
        self._trouble = None

    def _note_trouble(self, trouble: Trouble, seconds: float) -> None:
        """Keep the old token while it works, unless the key itself is refused."""
        now = time.monotonic()
        self._trouble, self._trouble_until = trouble, now + seconds
        if isinstance(trouble, BadCredentials) or not self._works:
            raise type(trouble)(str(trouble))  # a new one: the same would only grow its traceback
        self._look_again_in(seconds)

    def _look_again_in(self, seconds: float) -> None:
        self._refresh_at = min(time.monotonic() + seconds, self._expires_at)

    @property
    def _works(self) -> bool:
        return time.monotonic() < self._expires_at


def _held(generation: int, minted: Minted) -> Held:
    return Held(generation, minted.token, minted.seconds * REFRESH_AT, minted.seconds)


def _trouble_to(trouble: Trouble) -> str:
    return json.dumps({"key": isinstance(trouble, BadCredentials), "words": str(trouble)})


def _trouble_from(text: str) -> Trouble:
    content = json.loads(text)
    return (
        BadCredentials(content["words"]) if content["key"] else TokenUnavailable(content["words"])
    )
