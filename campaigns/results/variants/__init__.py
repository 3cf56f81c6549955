"""What came of each variant of a run, of its control group and of the holdout, and whether they
differ for sure.

The page of a run and the API enter.
"""
