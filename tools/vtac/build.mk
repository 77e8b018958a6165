# SPDX-License-Identifier: GPL-2.0-only
#
# vtac, the compiler: a static library with one file for each pass, and the command.
# What it takes beside the library's packages is in VTAC_PACKAGES: without them
# everything else is built all the same.

VTAC_PACKAGES := protobuf-c-compiler libprotobuf-c-dev libonnx-dev
VTAC_DIR := build/tools/obj/vtac
VTAC_A := build/tools/libvtac.a
# The command is main.c and cmd_*.c; the library is the rest.
VTAC_CMD_SRCS := $(wildcard tools/vtac/main.c tools/vtac/cmd_*.c)
VTAC_SRCS := $(filter-out $(VTAC_CMD_SRCS),$(wildcard tools/vtac/*.c))
VTAC_OBJS := $(VTAC_SRCS:tools/vtac/%.c=$(VTAC_DIR)/%.o) $(VTAC_DIR)/onnx.pb-c.o
VTAC_CPPFLAGS := -Itools/vtac -Ilibvtadev/ops -Ilibvtadev/ops/cpu -I$(VTAC_DIR) -D_GNU_SOURCE
VTAC_CFLAGS := -std=c11 -Wall -Wextra -Wshadow -Werror -O2 -g -fPIC

$(VTAC_DIR)/%.o: tools/vtac/%.c
	@mkdir -p $(@D)
	$(CC) $(VTAC_CPPFLAGS) $(CPPFLAGS) $(VTAC_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The schema is Debian's libonnx-dev's.
ONNX_PROTO := /usr/include/onnx/onnx.proto
$(VTAC_DIR)/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	protoc-c --c_out=$(@D) -I$(dir $(ONNX_PROTO)) $(notdir $(ONNX_PROTO))

$(VTAC_DIR)/onnx.pb-c.o: $(VTAC_DIR)/onnx.pb-c.c
	$(CC) $(CPPFLAGS) -std=c11 -O2 -g -fPIC $(CFLAGS) -c -o $@ $<

$(VTAC_DIR)/onnx.pb-c.h: $(VTAC_DIR)/onnx.pb-c.c ;
$(addprefix $(VTAC_DIR)/,$(notdir $(patsubst %.c,%.o,$(wildcard tools/vtac/onnx*.c)))): \
	$(VTAC_DIR)/onnx.pb-c.h

$(VTAC_A): $(VTAC_OBJS)
	rm -f $@
	$(AR) rcs $@ $^

.PHONY: vtac
vtac: $(VTAC_A)

-include $(VTAC_OBJS:.o=.d)
