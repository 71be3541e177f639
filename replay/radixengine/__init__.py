"""The bundled radix engine: prefix caches, policies and scheduler, free of torch until a model runs.

Token sequences are packed little-endian int32 ``bytes`` (4 bytes a token) throughout: slicing, hashing and
comparing them happens at C speed.
"""
