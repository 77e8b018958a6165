# SPDX-License-Identifier: Apache-2.0
#
# The GStreamer element vtainfer: docs/gstreamer.md. It needs GST_PACKAGES besides the library's
# packages: without them everything else is built all the same.

GST_PACKAGES := libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
# The commands and elements of the page's pipelines.
GST_TOOLS := gstreamer1.0-tools gstreamer1.0-plugins-base
GST_HAVE := $(shell pkg-config --exists gstreamer-video-1.0 2>/dev/null && echo yes)
GST_SO := build/lib/gstreamer-1.0/libgstvta.so
GST_SRCS := $(wildcard adapters/gstreamer/*.c)
GST_OBJS := $(GST_SRCS:adapters/gstreamer/%.c=build/gstreamer/%.o)
# GStreamer's headers are not ours to warn about.
GST_CFLAGS = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags gstreamer-video-1.0))
GST_LIBS = $(shell pkg-config --libs gstreamer-video-1.0)
GST_DIR ?= $(LIBDIR)/gstreamer-1.0

$(call objects,build/gstreamer,adapters/gstreamer,\
	-Ilibvtadev/picture $(PROG_CPPFLAGS) $(LIB_CPPFLAGS) $$(GST_CFLAGS) $$(CPPFLAGS) $$(LIB_CFLAGS) $$(CFLAGS))

$(GST_SO): $(GST_OBJS) $(PICTURE_OBJS) $(PROG_SO) $(LIB_SO)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-z,defs,-z,relro,-z,now $(LDFLAGS) -o $@ $^ $(PICTURE_LIBS) $(GST_LIBS)

.PHONY: gstreamer install-gstreamer
gstreamer: user-deps  ## the GStreamer element vtainfer: docs/gstreamer.md
	@tools/vm/deps.sh need $(GST_PACKAGES) $(GST_TOOLS)
	@$(MAKE) --no-print-directory $(GST_SO)

install-gstreamer: $(GST_SO)
	install -m 644 -Dt $(DESTDIR)$(GST_DIR) $(GST_SO)
