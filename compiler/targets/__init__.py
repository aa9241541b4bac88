"""What each target allows, and how it joins stages."""
