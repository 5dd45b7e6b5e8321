"""Runs steps that may hang, in processes that end with them, and keeps what they found: see run.py.

Imports nothing but the standard library; numpy, torch and Ramet are its children's.
"""
