"""Enrols edges with a controller: a token for a certificate, its renewal, announcements."""
