"""Who a TLS server of a test says it is: a certificate, signed by somebody, for some names."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

A_YEAR = timedelta(days=365)


class Authority:
    """Signs what it is asked to, also what nobody should."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("An authority of a test")
        builder = _certificate(self._name, self._name, self._key, ends=datetime.now(UTC) + A_YEAR)
        root = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(
            root.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )

    def server(
        self,
        *names: str,
        ended: bool = False,
        by_itself: bool = False,
        unnamed: bool = False,
    ) -> ssl.SSLContext:
        """A server's side of TLS under these names; `ended` yesterday, signed `by_itself`,
        or `unnamed` but for its Common Name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(names[0])
        issuer, signer = (subject, key) if by_itself else (self._name, self._key)
        ends = datetime.now(UTC) + (-timedelta(days=1) if ended else A_YEAR)
        builder = _certificate(subject, issuer, key, ends=ends)
        if not unnamed:
            others = x509.SubjectAlternativeName([_alternative(name) for name in names])
            builder = builder.add_extension(others, critical=False)
        file = self._folder / f"{names[0].replace(':', '_')}-{ended}-{by_itself}-{unnamed}.pem"
        file.write_bytes(_pem(key) + builder.sign(signer, hashes.SHA256()).public_bytes(PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


PEM = serialization.Encoding.PEM


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - 2 * A_YEAR)
        .not_valid_after(ends)
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
