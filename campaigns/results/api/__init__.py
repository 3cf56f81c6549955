"""The endpoints of a run's result: breakdowns and engagement."""
