"""How a push reaches a device: people, addresses, the gateway to FCM, its pace and its keys.

All houses above enter, and the benchmark.
"""
