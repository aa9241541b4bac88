"""Helio: a declarative language for eBPF/XDP network functions."""
