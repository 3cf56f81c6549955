"""Who has had a campaign already? A memory that outlives the recipients of its runs, of campaigns
that go only to those who have not had them.

The engine enters, and whoever foretells a launch, answers “why?”, exports or forgets people.
"""
