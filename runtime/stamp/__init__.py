"""The Session-Sender of STAMP (RFC 8762, RFC 8972): sessions, test packets on time, statistics."""
