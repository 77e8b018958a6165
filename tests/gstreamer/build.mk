# SPDX-License-Identifier: GPL-2.0-only
#
# The GStreamer element, by gst-launch and by a program that reads what it attaches to frames.

GST_FRAMES := build/tests/gstreamer/frames
$(call program,$(GST_FRAMES),tests/gstreamer/frames.c,-std=gnu11 $$(LIB_WARNINGS) -O1 -g \
	$$(patsubst -I%$(comma)-isystem %$(comma)$$(shell pkg-config --cflags gstreamer-video-1.0 gstreamer-app-1.0)),,\
	$$(shell pkg-config --libs gstreamer-video-1.0 gstreamer-app-1.0))
CHECK_PROGRAMS += $(if $(GST_HAVE),$(GST_SO) $(GST_FRAMES))
CHECKS += "gstreamer=tests/gstreamer/run.sh"
