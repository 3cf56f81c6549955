"""Who works here: roles and API keys, proofs of who somebody is, and the trail of what was done.

The doors, the commands, and all houses above enter.
"""
