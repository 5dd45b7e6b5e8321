"""The command line: one module per command that needs one."""
