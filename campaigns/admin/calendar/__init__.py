"""The calendar, and the dialog that moves a run on it. The pages of campaigns enter."""
