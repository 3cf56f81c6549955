"""The calendar, and the dialogs that move a run or change days off."""
