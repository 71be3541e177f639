"""Why prompts miss: detectors that look at a trace and propose Candidates. Only re-measuring makes one a
Finding.
"""
