"""FCM's language and HTTP: a Message as FCM wants it, what it would refuse, and what its answers
mean.

Pace, the probe, and who writes a Message or hands it over enter.
"""
