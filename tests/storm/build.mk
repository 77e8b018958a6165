# SPDX-License-Identifier: GPL-2.0-only
#
# The storm: a program for the guest.

STORM_BIN := build/tests/storm/storm

$(call program,$(STORM_BIN),tests/storm/storm.c,\
	-Itests/matrix -Itests/selftests $$(LIB_CPPFLAGS) $$(SELFTEST_CFLAGS),\
	$(addprefix $(MATRIX_DIR)/,card.o innocent.o kinds.o log.o) $(SELFTEST_SHARED))
$(call checked,$(STORM_BIN),"@storm=tests/in-vm tests/storm/guest.sh $$(VM_MODULE) -n $(CHECK_STORM)")
