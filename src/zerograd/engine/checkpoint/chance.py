"""Where a rank is in its random numbers: torch's, its device's, Python's and NumPy's."""

import random
import sys
from typing import Any

import torch


def read(device: torch.device) -> dict[str, Any]:
    state: dict[str, Any] = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if device.type not in ("cpu", "meta"):
        state["device"] = torch.get_device_module(device).get_rng_state(device)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    return state


def write(state: dict[str, Any], device: torch.device) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if "device" in state and device.type not in ("cpu", "meta"):
        torch.get_device_module(device).set_rng_state(state["device"], device)
    numpy = sys.modules.get("numpy")
    if "numpy" in state and numpy is not None:
        numpy.random.set_state(state["numpy"])
