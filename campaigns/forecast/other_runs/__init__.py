"""The other runs of a Firebase project: what is planned, and how runs delay each other."""
