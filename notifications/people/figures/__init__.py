"""Numbers of people and devices that are kept, so that no page counts millions of rows."""
