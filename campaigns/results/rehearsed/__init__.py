"""What a rehearsal found, what it foretells of a launch, and how that compared with the real run.

Pages and the API enter.
"""
