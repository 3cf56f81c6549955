"""How requests travel to FCM and answers come back: sockets of our own, or aiohttp through a proxy.

What an answer means stays with `fcm.py`. Only `dispatch.py` and the key check enter.
"""
