"""Tokens: vocabularies, the choice of one for a model, and the pool that tokenizes each segment once."""
