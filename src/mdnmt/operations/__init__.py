"""What a user does with a whole study: plan it, watch it, remove stale results."""
