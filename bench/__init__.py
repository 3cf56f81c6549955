"""What Carillon does on this machine, measured through its own doors. `make bench`.

Only its own rooms enter.
"""
