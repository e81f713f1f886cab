"""Settings for all tests."""

from hypothesis import settings

# A test's own time varies with the machine; how long the suite may take is written in the Makefile and CONTRIBUTING.
settings.register_profile("stepformer", deadline=None, print_blob=True)
settings.load_profile("stepformer")
