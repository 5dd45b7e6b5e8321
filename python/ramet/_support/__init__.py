"""Modules for every part of the package; they use none of them."""
