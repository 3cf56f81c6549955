"""Who would be skipped, and for which reason: counted before a launch."""
