"""The gate is the same every time: laws are tried on the same examples. `make campaign` looks for new ones."""

import os

from hypothesis import settings

settings.register_profile("gate", derandomize=True, database=None)
settings.register_profile("campaign", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))
