"""APIs about records leased to the members of share groups: one module each, its rules at the top."""
