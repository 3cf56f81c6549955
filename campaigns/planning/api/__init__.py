"""The API of campaigns, their schedules, and the report before a launch."""
