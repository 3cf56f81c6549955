"""The text on a run's page: how it is changed during the run, and its revisions."""
