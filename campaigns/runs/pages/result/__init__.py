"""The result on a run's page: canary, preview, breakdowns, engagement, comparison."""
