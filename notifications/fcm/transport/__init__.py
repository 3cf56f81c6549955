"""The two transports to FCM: our own sockets, and aiohttp for proxies."""
