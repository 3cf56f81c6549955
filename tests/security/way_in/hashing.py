"""A quick hash that counts how often it was asked for."""

from __future__ import annotations

from django.contrib.auth.hashers import MD5PasswordHasher


class CountingHasher(MD5PasswordHasher):
    algorithm = "counted"
    runs = 0

    def encode(self, password: str, salt: str) -> str:
        CountingHasher.runs += 1
        return super().encode(password, salt)
