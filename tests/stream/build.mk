# SPDX-License-Identifier: GPL-2.0-only

CHECK_PROGRAMS += $(addprefix build/tests/stream/,check_trace threads)

$(call program,build/tests/stream/check_trace,tests/stream/check_trace.c,\
	$$(LIB_WARNINGS) -O2 -g -Itests/lib,,-ljson-c)

$(call program,build/tests/stream/threads,tests/stream/threads.c,\
	$$(LIB_CPPFLAGS) $$(LIB_WARNINGS) -O2 -g,$(LIB_A),$$(LIB_LIBS))

CHECKS += "@stream=tests/in-vm tests/stream/guest.sh $(VM_MODULE)" "stream-soft=tests/stream/soft.sh"
