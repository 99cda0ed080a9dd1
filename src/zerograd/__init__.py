"""zerograd: every gradient accounted for."""

__version__ = "0.1.0"
