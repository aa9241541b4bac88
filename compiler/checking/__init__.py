"""What `check.py` stands on: headers, edges, elements, rules, statements, and all their faults."""
