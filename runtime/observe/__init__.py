"""Shows loaded pipelines from outside: status, metrics, tables in a terminal."""
