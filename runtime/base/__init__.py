"""Paths, errors, certificates and small tools that several folders of the runtime share."""
