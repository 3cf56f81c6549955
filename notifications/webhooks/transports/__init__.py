"""How a report leaves: HTTPS to a checked address, or e-mail."""
