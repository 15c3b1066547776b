"""What a share group asks of groups, share state and lending together."""
