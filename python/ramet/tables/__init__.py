"""Tables: rows by row id, of one process or of several ranks."""
