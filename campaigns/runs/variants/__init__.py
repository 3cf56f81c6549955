"""Who of a run gets which text, and who gets nothing on purpose: variants, the control group, and
the project's holdout.

Every room of campaigns may enter.
"""
