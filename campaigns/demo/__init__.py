"""Synthetic people and campaigns: what a newcomer meets first. The command `demo` enters,
and the addresses, for two phones to try messages with."""
