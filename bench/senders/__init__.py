"""Who sends in the table beside the product: each as documented, in a process of its own.

All of bench may enter.
"""
