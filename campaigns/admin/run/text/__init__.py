"""The text on a run's page: changing it during the run, and its revisions."""
