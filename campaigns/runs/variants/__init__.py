"""Variants: which recipient gets which text, and who is in the control group or the holdout."""
