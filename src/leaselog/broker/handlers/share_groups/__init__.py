"""APIs about share groups, their members and their offsets: one module each, its rules at the top."""
