"""The witness: counts and records every accepted message, and shows it on phones."""
