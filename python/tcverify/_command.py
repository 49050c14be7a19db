"""The command ``tcverify``: the program's own ``main``, without its binary."""

import sys

from tcverify import _tcverify


def main() -> int:
    """Runs the words of this process; 0 identical or done, 1 different, 2 anything else."""
    return _tcverify.main(["tcverify", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
