"""Check a task's text before anything is trained."""
