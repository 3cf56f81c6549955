"""The pages of endpoints for reports: their log, tests and replays."""
