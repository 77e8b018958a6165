# SPDX-License-Identifier: Apache-2.0
#
# The operators, a static library that needs nothing but memset and memcpy.

OPS_DIR := build/lib/ops
OPS_SRCS := $(addprefix libvtadev/ops/,builder.c conv.c cycles.c eltwise.c fetch.c gemm.c pack.c \
	post.c region.c tile.c window.c)
OPS_OBJS := $(OPS_SRCS:libvtadev/ops/%.c=$(OPS_DIR)/%.o)
OPS_A := build/lib/libvtaops.a
OPS_HEADERS := libvtadev/ops/vtaops.h
OPS_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Werror -O2 -g -fPIC -ffreestanding

$(OPS_DIR)/%.o: libvtadev/ops/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(OPS_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OPS_A): $(OPS_OBJS)
	rm -f $@
	$(AR) rcs $@ $^

-include $(OPS_OBJS:.o=.d)
