"""APIs about records, and the logs they are in: one module each, its rules at the top."""
