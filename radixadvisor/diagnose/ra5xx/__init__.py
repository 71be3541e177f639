"""Detectors of what serving costs: lifetimes, replicas, bypasses, isolation, pages, pools and queues."""
