"""The gate is the same every time: laws are tried on the same examples. `make campaign` looks for new ones."""

import os
import signal

from hypothesis import settings

# A shell that starts the tests in the background has them ignore these, and whatever they start would do so too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No deadlines: how long an example takes says how busy the machine is.
settings.register_profile("gate", derandomize=True, database=None, deadline=None)
settings.register_profile("campaign", print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))
