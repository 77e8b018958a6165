# SPDX-License-Identifier: GPL-2.0-only
#
# The storm: a program for the guest, run by run.sh in a VM.

STORM_DIR := build/tests/storm
STORM_BIN := $(STORM_DIR)/storm

$(STORM_DIR)/storm.o: tests/storm/storm.c
	@mkdir -p $(@D)
	$(CC) -Itests/matrix -Itests/selftests $(LIB_CPPFLAGS) $(SELFTEST_CFLAGS) -MMD -MP -c -o $@ $<

$(STORM_BIN): $(STORM_DIR)/storm.o $(addprefix $(MATRIX_DIR)/,card.o innocent.o kinds.o log.o) \
		$(SELFTEST_SHARED)
	$(CC) -pthread -o $@ $^

-include $(STORM_DIR)/storm.d
