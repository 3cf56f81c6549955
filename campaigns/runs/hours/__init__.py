"""When may this person get a run that goes by each reader's clock? Pure.

`campaigns/runs` enters, and whoever asks for a run's or a campaign's hours.
"""
