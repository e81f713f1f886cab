"""Settings for all tests."""

import gc

from hypothesis import settings

# A test's own time varies with the machine; how long the suite may take is written in the Makefile and CONTRIBUTING.
# Every run draws the same examples, so that a push is not judged by luck; `make test-all` draws others, with "explore".
settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("stepformer", settings.get_profile("explore"), derandomize=True)
settings.register_profile("quick", settings.get_profile("stepformer"), max_examples=20)  # make check
settings.load_profile("stepformer")


def pytest_collection_finish():
    """Let the collector of garbage pass over the thousands of tests: they stay until the end anyway."""
    gc.collect()
    gc.freeze()


LONG_FILES = ("chapters", "browser", "train")
"""The folders whose files take long: whole chapters, pages in a browser, trainings."""


def pytest_collection_modifyitems(items):
    """Begin with what takes long: of two processes, neither then waits for the last file of the other."""
    rank = {name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: min(rank.get(name, len(rank)) for name in item.path.parts))
