"""A log with chosen fixes in it, in the dialect that it came in."""
