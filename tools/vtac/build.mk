# SPDX-License-Identifier: GPL-2.0-only
#
# vtac, the compiler: a static library with one file for each pass, and the command.
# What it takes beside the library's packages is in VTAC_PACKAGES: without them
# everything else is built all the same.

VTAC_PACKAGES := protobuf-c-compiler libprotobuf-c-dev libonnx-dev
VTAC_DIR := build/tools/obj/vtac
VTAC_A := build/tools/libvtac.a
VTAC_SRCS := $(addprefix tools/vtac/, \
	arena.c dump.c graph.c names.c sweep.c)
VTAC_OBJS := $(VTAC_SRCS:tools/vtac/%.c=$(VTAC_DIR)/%.o)
VTAC_CPPFLAGS := -Itools/vtac -Ilibvtadev/ops -I$(VTAC_DIR) -D_GNU_SOURCE
VTAC_CFLAGS := -std=c11 -Wall -Wextra -Wshadow -Werror -O2 -g -fPIC

$(VTAC_DIR)/%.o: tools/vtac/%.c
	@mkdir -p $(@D)
	$(CC) $(VTAC_CPPFLAGS) $(CPPFLAGS) $(VTAC_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(VTAC_A): $(VTAC_OBJS)
	rm -f $@
	$(AR) rcs $@ $^

.PHONY: vtac
vtac: $(VTAC_A)

-include $(VTAC_OBJS:.o=.d)
