"""Who works here: roles and API keys, proofs of who somebody is, and the trail of what was done."""
