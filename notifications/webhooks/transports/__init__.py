"""Ways: how a call leaves us, over HTTPS to a checked address or as an e-mail. Knows no database.

What composes and makes calls enters, and whoever judges an address.
"""
