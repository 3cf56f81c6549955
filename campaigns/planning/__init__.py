"""Campaigns, their schedules, and the checks before a launch."""
