"""The card of a text check, on a campaign's review. The page of campaigns enters."""
