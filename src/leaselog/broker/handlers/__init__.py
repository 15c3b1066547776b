"""One module an API, its rules at the top, in folders named for the rooms they speak to."""
