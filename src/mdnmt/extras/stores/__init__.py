"""Copies of finished runs on other machines: shared folders, web servers, the parts of a campaign."""
