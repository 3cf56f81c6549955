"""What goes wrong: for an address by its name, for anybody by a script.

Doors, speakers and the arguments enter.
"""
