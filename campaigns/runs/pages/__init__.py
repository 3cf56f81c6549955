"""The pages of runs: live progress, the result, the recipients."""
