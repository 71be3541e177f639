"""``python -m radixadvisor``."""

import sys

from radixadvisor.cli import main

sys.exit(main())
