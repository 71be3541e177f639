"""Chat templates: from a Request to the exact text that an engine sees, and where its characters came from."""
