"""A certificate authority of the emulator's own, and the server certificate it signs.

Both outlive a restart, so a sender that trusts `ca.pem` keeps working.
"""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from emulator.folder import Folder, write

AUTHORITY_DAYS = 3650
SERVER_DAYS = 365
RENEW_DAYS = 30
HOST = "localhost"
ADDRESS = "127.0.0.1"
# For SDKs that know Google by name only: FCM, the token endpoint, and the older one of that.
GOOGLE_NAMES = ("fcm.googleapis.com", "oauth2.googleapis.com", "www.googleapis.com")
# What a TLS client may choose from; who speaks both is answered in the first, as by Google.
HTTP2, HTTP1 = "h2", "http/1.1"


def prepare(folder: Folder, *, now: datetime) -> None:
    """Make what is missing and renew what is about to expire; otherwise touch nothing."""
    if not (folder.authority.exists() and folder.authority_key.exists()):
        _make_authority(folder, now=now)
    if not _server_is_good(folder, now=now):
        _make_server(folder, now=now)


def server_context(folder: Folder) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder.certificate, folder.certificate_key)
    context.set_alpn_protocols([HTTP2, HTTP1])
    return context


def _make_authority(folder: Folder, *, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named("Carillon FCM emulator CA")
    certificate = (
        _certificate(name, issuer=name, key=key.public_key(), now=now, days=AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    write(folder.authority_key, _key_pem(key), private=True)
    write(folder.authority, _certificate_pem(certificate), private=False)


def _make_server(folder: Folder, *, now: datetime) -> None:
    authority = x509.load_pem_x509_certificate(folder.authority.read_bytes())
    authority_key = serialization.load_pem_private_key(
        folder.authority_key.read_bytes(), password=None
    )
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named("Carillon FCM emulator")
    certificate = (
        _certificate(
            name, issuer=authority.subject, key=key.public_key(), now=now, days=SERVER_DAYS
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_alternative_names(), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    write(folder.certificate_key, _key_pem(key), private=True)
    write(folder.certificate, _certificate_pem(certificate), private=False)


def _server_is_good(folder: Folder, *, now: datetime) -> bool:
    """Is there a certificate of this authority, for the key beside it, good for weeks to come?"""
    if not (folder.certificate.exists() and folder.certificate_key.exists()):
        return False
    certificate = x509.load_pem_x509_certificate(folder.certificate.read_bytes())
    authority = x509.load_pem_x509_certificate(folder.authority.read_bytes())
    key = serialization.load_pem_private_key(folder.certificate_key.read_bytes(), password=None)
    if _names_of(certificate) != _alternative_names():
        return False  # of an emulator that had fewer
    if certificate.not_valid_after_utc - now < timedelta(days=RENEW_DAYS):
        return False
    # A crash between the two writes leaves a key beside the certificate of another one.
    if certificate.public_key() != key.public_key():
        return False
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # an invalid signature, another issuer, another kind of key: all mean "no"
        return False
    return True


def _certificate(
    subject: x509.Name,
    *,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # An hour back: a container's clock may be a little behind the one that made this.
        .not_valid_before(now.astimezone(UTC) - timedelta(hours=1))
        .not_valid_after(now.astimezone(UTC) + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _named(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative_names() -> x509.SubjectAlternativeName:
    names = (x509.DNSName(name) for name in (HOST, *GOOGLE_NAMES))
    return x509.SubjectAlternativeName([*names, x509.IPAddress(ipaddress.ip_address(ADDRESS))])


def _names_of(certificate: x509.Certificate) -> x509.SubjectAlternativeName:
    return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
