#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What documents call ./program: one that uses the card, for a moment.
exec vtactl program run /tree/digits.vtap image=/tree/digit.raw
