"""APIs about records lent to the members of share groups: one module each, its rules at the top."""
