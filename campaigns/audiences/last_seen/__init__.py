"""When a device or person was last seen: in rules, and as a limit for unseen devices."""
