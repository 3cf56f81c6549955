"""FCM's language and HTTP: a Push as FCM wants it, what it would refuse, and what its answers
mean.

Pace, the probe, and who writes a Push or hands it over enter.
"""
