"""Exit statuses of the command `ramet`."""

EXIT_DAMAGED, EXIT_ERROR, EXIT_INTERRUPTED = 1, 2, 130
