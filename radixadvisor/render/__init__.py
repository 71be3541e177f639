"""Chat templates: from a Request to the exact text an engine sees, and where its characters came from."""
