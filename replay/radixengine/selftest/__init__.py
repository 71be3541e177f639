"""Does the engine compute what it should here, and how fast: ``python -m radixengine.selftest``."""
