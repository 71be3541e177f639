"""In which order to write the sections of a prompt, the items of a list, the rows of a batch: tables in,
orders out.
"""
