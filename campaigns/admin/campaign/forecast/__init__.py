"""The forecast of a run, shown in the review of its campaign."""
