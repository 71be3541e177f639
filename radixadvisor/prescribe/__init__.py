"""What to change, and what it is worth: edits on requests, applied and measured again."""
