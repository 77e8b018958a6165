#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Put the module's parameters, as the sources describe them, into vta.4.

    man4.py TEMPLATE SOURCE... > vta.4
"""

import re
import sys
import textwrap
from pathlib import Path

PARAMETER = re.compile(r'MODULE_PARM_DESC\((\w+),\s*"([^"]*)"\)')

parameters = sorted(match.groups() for source in sys.argv[2:]
                    for match in PARAMETER.finditer(Path(source).read_text()))
items = "\n".join(
    "\n".join([f".It Va {name}", *textwrap.wrap(text.replace("-", r"\-") + ".", 78,
                                               break_on_hyphens=False)])
    for name, text in parameters)
sys.stdout.write(Path(sys.argv[1]).read_text().replace("@PARAMETERS@", items))
