"""What `check.py` stands on: headers, edges, elements, rules, statements, and every fault they find."""
