"""Processes that do something together, as one of them sees them: who they are, and their collectives."""
