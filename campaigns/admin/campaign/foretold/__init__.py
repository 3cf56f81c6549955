"""The forecast of a run, drawn in the review of its campaign."""
