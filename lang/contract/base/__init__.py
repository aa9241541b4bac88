"""Data that several parts of the contract share."""
