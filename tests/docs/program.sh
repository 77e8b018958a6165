#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Use the card for a moment: the ./program of the documents.
exec vtactl program run /tree/digits.vtap image=/tree/digit.raw
