# SPDX-License-Identifier: Apache-2.0
"""The command line of vta-serve. Its help needs nothing that is installed."""

from __future__ import annotations

import argparse
import os
from typing import List, Optional


def _number(least, most, kind=int):
    def convert(text):
        value = kind(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"a number from {least} to {most}")
        return value
    return convert


def _address(text):
    if text.startswith("unix:/"):
        return text
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError("HOST:PORT, [IPV6]:PORT, :PORT for all, or unix:/PATH")
    return text


class _Formatter(argparse.HelpFormatter):
    """Writes "Usage:", from which help2man makes the synopsis."""

    def add_usage(self, usage, actions, groups, prefix=None):
        super().add_usage(usage, actions, groups, "Usage: ")


class _Version(argparse.Action):
    def __call__(self, parser, *_):
        import vtadev
        print(f"vta-serve {vtadev.__version__}")
        parser.exit()


def options_of(arguments: Optional[List[str]] = None) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(
        prog="vta-serve", usage="%(prog)s [OPTION...] DIRECTORY", formatter_class=_Formatter,
        description="Serve the models of a directory (NAME.vtap, or NAME.onnx with "
        "NAME.calibration) by the Open Inference Protocol, on VTA cards.",
        epilog="SIGHUP looks for models again. SIGTERM ends the server when requests in progress are "
        "answered.")
    parser.add_argument("directory", metavar="DIRECTORY", help="with the models")
    parser.add_argument("--listen", metavar="ADDRESS", type=_address, action="append",
                        help="HOST:PORT, :PORT or unix:/PATH; may be repeated (127.0.0.1:8000). There "
                        "is no authentication")
    parser.add_argument("--cards", metavar="NAME,...", type=lambda text: text.split(","),
                        help="cards to use, as vta0 or soft (all cards)")
    parser.add_argument("--cache", metavar="DIR", default=os.environ.get("CACHE_DIRECTORY"),
                        help="keeps compiled models (CACHE_DIRECTORY, or none)")
    parser.add_argument("--timeout", metavar="SECONDS", type=_number(0.001, 86400, float),
                        default=30, help="for the run of a request (30)")
    parser.add_argument("--queue", metavar="ROWS", type=_number(1, 65536), default=256,
                        help="rows of each model that wait for a card; more are refused with 429 (256)")
    parser.add_argument("--rows", metavar="N", type=_number(1, 65536), default=64,
                        help="most rows of a request (64)")
    parser.add_argument("--connections", metavar="N", type=_number(1, 1 << 20), default=1024,
                        help="open at a time (1024)")
    parser.add_argument("--client-connections", metavar="N", type=_number(1, 1 << 20), default=256,
                        help="of one address (256)")
    parser.add_argument("--client-requests", metavar="N", type=_number(1, 1 << 20), default=128,
                        help="in progress, of one address; more are refused with 429 (128)")
    parser.add_argument("--memory", metavar="MIB", type=_number(4, 1 << 20), default=1024,
                        help="for requests in progress; one client has half of it, a body a quarter "
                        "(1024)")
    parser.add_argument("--linger", metavar="SECONDS", type=_number(0, 3600, float), default=0,
                        help="after SIGTERM, accept connections so long, but be not ready, until "
                        "balancers have noticed (0)")
    parser.add_argument("--stop-timeout", metavar="SECONDS", type=_number(0, 3600, float), default=30,
                        help="wait so long for requests in progress (30)")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    options = parser.parse_args(arguments)
    options.listen = options.listen or ["127.0.0.1:8000"]
    if not os.path.isdir(options.directory):
        parser.error(f"{options.directory} is no directory")
    return options
