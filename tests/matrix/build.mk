# SPDX-License-Identifier: GPL-2.0-only
#
# The fault matrix: a program for the guest.

MATRIX_DIR := build/tests/matrix
MATRIX_BIN := $(MATRIX_DIR)/matrix
MATRIX_OBJS := $(patsubst tests/matrix/%.c,$(MATRIX_DIR)/%.o,$(wildcard tests/matrix/*.c))

$(call objects,$(MATRIX_DIR),tests/matrix,$$(LIB_CPPFLAGS) -Itests/selftests $$(SELFTEST_CFLAGS))

$(call program,$(MATRIX_BIN),,,$(MATRIX_OBJS) $(SELFTEST_SHARED))
$(call checked,$(MATRIX_BIN),"@matrix=tests/matrix/run.sh $$(VM_MODULE) build/matrix-sample -e 13")
