"""reseal: all that is sealed under today's key, so that an older one can be taken away."""

from __future__ import annotations

from io import StringIO

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django_otp.plugins.otp_totp.models import TOTPDevice

from notifications.keys import inbox_secret, sealing
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from notifications.staff import second_factor
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_project
from tests.servers.fcm import Fcm


def reseal() -> str:
    out = StringIO()
    call_command("reseal", stdout=out)
    return out.getvalue()


@pytest.fixture
def two_accounts(project: Project, fcm: Fcm, settings: LazySettings) -> str:
    """Sealed with the key that is returned, which now stands behind a new one."""
    ServiceAccount.store(make_project(), fcm.service_account)
    old = settings.CREDENTIALS_KEY
    settings.CREDENTIALS_KEY = f"brand new, {old}"
    return old


def test_after_it_the_new_key_alone_opens_every_account(
    two_accounts: str, fcm: Fcm, settings: LazySettings
) -> None:
    told = reseal()

    settings.CREDENTIALS_KEY = "brand new"
    assert [each.open() for each in ServiceAccount.objects.all()] == [fcm.service_account] * 2
    assert set(ServiceAccount.objects.values_list("sealed_with", flat=True)) == {sealing.key_id()}
    done = "2 service accounts, 0 second factors, 0 inbox secrets and 0 endpoints"
    assert f"{done} are encrypted with {sealing.key_id()}" in told
    assert "The keys behind the first can be removed." in told
    assert two_accounts not in told and "brand new" not in told
    assert AuditEntry.objects.filter(action="re-encrypted").count() == 1


def test_a_second_time_there_is_nothing_to_do(two_accounts: str) -> None:
    reseal()
    sealed = list(ServiceAccount.objects.order_by("pk").values_list("sealed", flat=True))
    nothing = "0 service accounts, 0 second factors, 0 inbox secrets and 0 endpoints"
    assert f"{nothing} are encrypted with" in reseal()
    assert list(ServiceAccount.objects.order_by("pk").values_list("sealed", flat=True)) == sealed


def test_an_account_that_no_key_opens_is_named_and_the_others_are_done(
    two_accounts: str, project: Project, settings: LazySettings
) -> None:
    lost = ServiceAccount.objects.get(project=project)
    lost.sealed = b"what nobody opens, as its key is lost"
    lost.save()

    with pytest.raises(CommandError) as refused:
        reseal()

    assert f"No key opens the service account of {project.slug} here" in str(refused.value)
    assert "Keep the keys behind the first" in str(refused.value)
    settings.CREDENTIALS_KEY = "brand new"
    assert ServiceAccount.objects.exclude(pk=lost.pk).get().opens()


def test_after_it_the_new_key_alone_knows_everybodys_second_factor(
    db: None, settings: LazySettings
) -> None:
    old = settings.CREDENTIALS_KEY
    devices = [second_factor.begin(User.objects.create_user(name)) for name in ("ada", "bob")]
    secrets = [second_factor.secret_of(device) for device in devices]
    settings.CREDENTIALS_KEY = f"brand new, {old}"

    assert "2 second factors" in reseal()

    settings.CREDENTIALS_KEY = "brand new"
    for device, secret in zip(devices, secrets, strict=True):
        device.refresh_from_db()
        assert second_factor.secret_of(device) == secret
        assert secret.hex() not in device.key


def test_a_person_whose_second_factor_no_key_opens_is_named(
    db: None, settings: LazySettings
) -> None:
    second_factor.begin(User.objects.create_user("ada"))
    TOTPDevice.objects.update(confirmed=True)
    settings.CREDENTIALS_KEY = "brand new"  # and the old one is lost

    with pytest.raises(CommandError) as refused:
        reseal()

    assert "No key opens the second factor of ada here" in str(refused.value)
    assert "Keep the keys behind the first" in str(refused.value)


def test_a_set_up_that_was_not_finished_and_that_no_key_opens_is_dropped(
    db: None, settings: LazySettings
) -> None:
    second_factor.begin(User.objects.create_user("ada"))
    settings.CREDENTIALS_KEY = "brand new"  # and the old one is lost
    kept = second_factor.begin(User.objects.create_user("bob"))

    assert "The keys behind the first can be removed." in reseal()

    assert list(TOTPDevice.objects.all()) == [kept]


def test_after_it_the_new_key_alone_opens_every_inbox_secret(
    db: None, settings: LazySettings
) -> None:
    project, old = make_project(), settings.CREDENTIALS_KEY
    secret, _ = inbox_secret.first(project)
    text = secret.open()
    settings.CREDENTIALS_KEY = f"brand new, {old}"

    assert "1 inbox secrets" in reseal()

    settings.CREDENTIALS_KEY = "brand new"
    secret.refresh_from_db()
    assert (secret.open(), secret.sealed_with) == (text, sealing.key_id())


def test_a_project_whose_inbox_secret_no_key_opens_is_named(
    db: None, settings: LazySettings
) -> None:
    project = make_project()
    inbox_secret.first(project)
    settings.CREDENTIALS_KEY = "brand new"  # and the old one is lost

    with pytest.raises(CommandError) as refused:
        reseal()

    assert f"No key opens the inbox secret of {project.slug} here" in str(refused.value)
