# SPDX-License-Identifier: Apache-2.0
#
# The operators, a static library that needs nothing but memset and memcpy, and
# its tests against the emulator's core.

OPS_DIR := build/lib/ops
OPS_SRCS := $(addprefix libvtadev/ops/,builder.c eltwise.c gemm.c pack.c)
OPS_OBJS := $(OPS_SRCS:libvtadev/ops/%.c=$(OPS_DIR)/%.o)
OPS_A := build/lib/libvtaops.a
OPS_HEADERS := libvtadev/ops/vtaops.h
OPS_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Werror -O2 -g -fPIC -ffreestanding
OPS_TESTS := build/tests/ops/test_ops

$(OPS_DIR)/%.o: libvtadev/ops/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(OPS_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OPS_A): $(OPS_OBJS)
	rm -f $@
	$(AR) rcs $@ $^

$(OPS_TESTS): tests/ops/test_ops.c $(OPS_SRCS) $(OPS_HEADERS) libvtadev/ops/ops_impl.h \
		$(wildcard tools/vta-emu/core*.[ch])
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -fsanitize=address,undefined \
		-Iuapi -Ilibvtadev/ops -Itools/vta-emu -o $@ \
		$(filter %.c,$^) -ljson-c -lcmocka

-include $(OPS_OBJS:.o=.d)
