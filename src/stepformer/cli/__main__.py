"""`python -m stepformer.cli` is `stepformer`."""

import sys

from stepformer.cli import main

sys.exit(main())
