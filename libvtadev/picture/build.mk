# SPDX-License-Identifier: Apache-2.0
#
# Pictures as inputs of networks, for vtactl, vtac and Python: objects.

PICTURE_DIR := build/tools/obj/picture
PICTURE_SRCS := $(addprefix libvtadev/picture/,boxes.c draw.c file.c jpeg.c png.c resample.c)
PICTURE_OBJS := $(PICTURE_SRCS:libvtadev/picture/%.c=$(PICTURE_DIR)/%.o)
PICTURE_LIBS := -lpng -ljpeg -lm

$(call objects,$(PICTURE_DIR),libvtadev/picture,\
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(PROG_CPPFLAGS) $$(CPPFLAGS) $$(LIB_WARNINGS) -O2 -g -fPIC $$(CFLAGS))
