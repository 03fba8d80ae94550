"""What a study is made of: tasks, runs, tables and figures, resolved from configuration."""
