"""What a text may do to a value: “| currency: 'EUR'”.

Only the template language, campaigns/texts/liquid.py, enters.
"""
