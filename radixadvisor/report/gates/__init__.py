"""A check's gates for people, and in the forms that build servers read."""
