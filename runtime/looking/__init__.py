"""A loaded pipeline looked at from outside: rules, counters, metrics, tables in a terminal."""
