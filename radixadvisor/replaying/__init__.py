"""Replay: a log run on the bundled engine, and what it measured set against what was predicted."""
