"""Which recipient gets which variant, and who is in the control group or the holdout."""
