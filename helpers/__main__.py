"""`python -m helpers` is the `nunchi` command."""

import sys

from helpers.cli import main

if __name__ == "__main__":
    sys.exit(main())
