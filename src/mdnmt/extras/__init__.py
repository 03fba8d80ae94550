"""What the reproduction does not need: each module here is a plug-in, found like a user's own (`mdnmt.plugins`).

Nothing outside this room imports it.
"""
