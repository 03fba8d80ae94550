"""The kinds of claim rules, one file each."""
