"""The revisions of a run's text."""
