"""Transports: send a report by HTTPS to a checked address, or by e-mail."""
