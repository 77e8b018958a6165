# SPDX-License-Identifier: Apache-2.0
#
# The operators, for the card and for the CPU, and program images: a static library for machines
# without an operating system, which needs nothing but memset, memcpy and memcmp (and of libgcc
# which processor this is). Programs with libvtadev link libvtaprog, which has all of it.

OPS_DIR := build/lib/ops
OPS_SRCS := $(addprefix libvtadev/ops/, \
	builder.c channels.c conv.c cycles.c eltwise.c fetch.c function.c gemm.c lanes.c matmul.c \
	norm.c norm_apply.c norm_measure.c norm_steps.c pack.c post.c region.c tile.c window.c work.c) \
	$(wildcard libvtadev/cpu/*.c libvtadev/program/image*.c)
OPS_OBJS := $(OPS_SRCS:libvtadev/%.c=$(OPS_DIR)/%.o)
OPS_A := build/lib/libvtaops.a
OPS_HEADERS := libvtadev/ops/vtaops.h libvtadev/program/vtaimage.h libvtadev/cpu/vtacpu.h
OPS_CFLAGS := -Icontract $(PROG_CPPFLAGS) -std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Werror -O2 -g -fPIC -ffreestanding \
	-ffunction-sections -ffp-contract=off
# Loops that the compiler vectorises: it need not keep exceptions and errno, which nobody reads.
# Floats are never contracted: the same bits everywhere. The compiler is asked when it runs, as the
# same make may have installed it.
$(OPS_DIR)/cpu/%.o: OPS_CFLAGS += -O3 -fno-trapping-math -fno-math-errno
$(OPS_DIR)/cpu/%.o: OPS_AVX2 = $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),-DVTACPU_AVX2)

$(call objects,$(OPS_DIR),libvtadev,$$(CPPFLAGS) $$(OPS_CFLAGS) $$(OPS_AVX2) $$(CFLAGS))

$(call archive,$(OPS_A),$(OPS_OBJS))
