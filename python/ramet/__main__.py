"""`python -m ramet`: the command `ramet`."""

import sys

from ramet.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
