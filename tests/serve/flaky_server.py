# SPDX-License-Identifier: GPL-2.0-only
"""vta-serve with devices "flaky:N" (tests/devices/flaky.h), which fail as standard input says:

    lose N RUNS         so many runs of device N end with its loss, as by a reset
    refuse N ERRNO      opening device N fails, as if it was pulled out; 0: it is back
    hold N 0|1          runs do not end

Each line is answered by "done" on standard output.
"""

import ctypes
import os
import sys
import threading

from vtaserve.main import main
from vtaserve.options import options_of


class Flaky(ctypes.Structure):
    """struct flaky of flaky.h"""
    _fields_ = [("refuse", ctypes.c_int), ("lose", ctypes.c_int), ("fault", ctypes.c_int),
                ("faults", ctypes.c_int), ("hold", ctypes.c_bool), ("clock_khz", ctypes.c_int),
                ("opens", ctypes.c_uint), ("runs", ctypes.c_uint), ("side", ctypes.c_uint),
                ("sides", ctypes.c_uint), ("thread", ctypes.c_int)]


def obey():
    """Do what standard input says."""
    plugin = ctypes.CDLL(os.environ["VTADEV_PLUGINS"] + "/libvtadev-flaky.so")
    assert ctypes.sizeof(Flaky) == ctypes.c_uint.in_dll(plugin, "flaky_bytes").value
    devices = (Flaky * 8).in_dll(plugin, "flaky")
    for line in sys.stdin:
        what, number, value = line.split()
        setattr(devices[int(number)], what, int(value))
        print("done", flush=True)


if __name__ == "__main__":
    threading.Thread(target=obey, daemon=True).start()
    sys.exit(main(options_of()))
