"""How a run would go, as it was reckoned when it began.

The tasks enter to have it kept, the run's page and the API to show it.
"""
