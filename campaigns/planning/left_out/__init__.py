"""Who of an audience would be left out of a launch, person by person.

The campaign's last step enters.
"""
