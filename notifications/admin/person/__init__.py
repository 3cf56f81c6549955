"""Parts of a person's page that are forms of their own. The page of people enters."""
