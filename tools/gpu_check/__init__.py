"""Tests and measures Ramet on a GPU in one command that cannot be cut short: command.py.

It imports nothing but the standard library; torch, numpy and Ramet are its children's.
"""
