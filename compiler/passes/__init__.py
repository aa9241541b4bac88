"""Passes over the intermediate representation, one a file; compiler/driver.py has their order."""
