"""Who: audiences, their rules and SQL of them, and why somebody is in or out.

Texts and every room above them may enter.
"""
