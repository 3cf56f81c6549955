"""What a marketer means: audiences, templates, campaigns, and the engine that runs them.

Its rooms, config and the benchmark enter.
"""
