"""The files of a store: their contents, writing, and checksums. docs/format.md"""
