"""Chat templates: from a Request to the exact text that an engine sees, with the origin of every character."""
