"""APIs about the quotas of clients: one module each, its rules at the top."""
