"""Find Firefox for its tests: `STEPFORMER_FIREFOX`, or the system's."""

import os
import shutil
from pathlib import Path

NAMES = ("firefox-esr", "firefox")
HINT = "Firefox is missing. On Debian: apt-get install firefox-esr; or name one: STEPFORMER_FIREFOX=/path/to/firefox."


def find_firefox() -> str | None:
    """Return the path of a Firefox, or None."""
    if named := os.environ.get("STEPFORMER_FIREFOX"):
        return named if Path(named).is_file() else None
    return next((path for name in NAMES if (path := shutil.which(name))), None)
