"""Seconds: the roofline of a model on a card, the engines' schedulers on its virtual clock, calibration."""
