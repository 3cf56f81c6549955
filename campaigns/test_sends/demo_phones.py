"""Two phones to try messages with: whose they are.

They exist only beside a stand-in for FCM: where real phones ring, there is nothing to play.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from notifications.people.project import Project


@dataclass(frozen=True)
class Phone:
    name: str  # in addresses
    owner: str

    @property
    def external_id(self) -> str:
        return f"demo-phone-{self.name}"

    @property
    def address(self) -> str:
        """A live one to the stand-in, whose answers follow from the address."""
        return f"demo-phone-{self.name}"


PHONES = {phone.name: phone for phone in (Phone("mina", "Mina"), Phone("leo", "Leo"))}


def can_ring(project: Project | None) -> bool:
    stands_in = settings.FCM_ENDPOINT != settings.GOOGLE_FCM_ENDPOINT
    return project is not None and project.uses_emulator and stands_in
