"""What editors ask about a `.hp` file; commands/language_server.py speaks to them."""
