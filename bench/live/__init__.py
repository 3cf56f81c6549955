"""What happens while it is sent, measured: the live inbox and its streams, phones that report, and
a customer's server that says how busy it is.

`bench/growth/scale.py` enters.
"""
