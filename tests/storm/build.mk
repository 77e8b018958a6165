# SPDX-License-Identifier: GPL-2.0-only
#
# The storm: a program for the guest.

STORM_DIR := build/tests/storm
STORM_BIN := $(STORM_DIR)/storm

$(call objects,$(STORM_DIR),tests/storm,\
	-Itests/matrix -Itests/selftests $$(LIB_CPPFLAGS) $$(SELFTEST_CFLAGS))

$(STORM_BIN): $(STORM_DIR)/storm.o $(addprefix $(MATRIX_DIR)/,card.o innocent.o kinds.o log.o) \
		$(SELFTEST_SHARED)
	$(CC) -pthread -o $@ $^

CHECKS += "@storm=tests/in-vm tests/storm/guest.sh $(VM_MODULE) -n $(CHECK_STORM)"
