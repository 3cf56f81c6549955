"""Where images are kept and fetched, said before anything starts."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.boot.images import image_storage, images_address


def test_phones_fetch_from_our_own_door_unless_told_otherwise() -> None:
    assert images_address("", ours="https://push.example.com") == "https://push.example.com/i"
    assert images_address("", ours="http://127.0.0.1:8000") == "https://127.0.0.1:8000/i"
    assert images_address("", ours="") == ""
    assert (
        images_address("https://cdn.example.com/push/", ours="") == "https://cdn.example.com/push"
    )


@pytest.mark.parametrize(
    "given",
    ["http://cdn.example.com", "https://", "https://a@b.com/", "https://cdn.example.com/?x=1",
     "https://cdn.example.com/a b", "ftp://x"],
)  # fmt: skip
def test_an_address_that_no_phone_may_use_stops_the_start(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="IMAGES_URL must be an https"):
        images_address(given, ours="")


def test_a_storage_that_is_not_installed_stops_the_start_with_what_to_install() -> None:
    with pytest.raises(ImproperlyConfigured, match="install django-storages"):
        image_storage("storages_that_are_not_here.S3", "{}", folder="x")


@pytest.mark.parametrize("options", ["{", "[]", '"x"'])
def test_options_that_cannot_be_read_stop_the_start_and_are_not_repeated(options: str) -> None:
    with pytest.raises(ImproperlyConfigured) as said:
        image_storage("django.core.files.storage.InMemoryStorage", options, folder="x")
    assert "IMAGES_STORAGE_OPTIONS" in str(said.value)
