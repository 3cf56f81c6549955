"""FCM's language and HTTP: a Message as FCM wants it, what it would refuse, and what its answers
mean.
"""
