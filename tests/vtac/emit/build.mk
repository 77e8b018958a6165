# SPDX-License-Identifier: GPL-2.0-only
#
# C that vtac writes: compiled and run, without a VM by run.sh, in one by
# tests/in-vm tests/ops/guest.sh.

EMIT_TEST_DIR := build/tests/vtac/emit
EMIT_TESTS := $(EMIT_TEST_DIR)/emit tests/vtac/emit/card.c $(OPS_TEST_DIR)/mixed_files
EMIT_BIN := $(EMIT_TEST_DIR)/mixed
EMIT_SRCS := $(filter-out %/emit_onnx.c,$(wildcard compiler/emit/*.c))
# card.c is linked with these.
EMIT_LINK := $(call variant,asan,$(OPS_A) $(EMU_LIB)) $(EMU_LIBS)

$(call program,$(EMIT_TEST_DIR)/emit,tests/vtac/emit/emit.c libvtadev/output.c $(EMIT_SRCS),\
	-D_GNU_SOURCE -Icompiler -Ilibvtadev $(PROG_CPPFLAGS) $$(OPS_TEST_CFLAGS),$(OPS_A),-ljson-c,,asan)

# The network of tests/ops/mixed.c as a program for the VM.
$(EMIT_BIN): $(EMIT_TEST_DIR)/emit $(OPS_TEST_DIR)/mixed_files $(LIB_A) $(PROG_A)
	@mkdir -p $(@D)/files
	$(OPS_TEST_DIR)/mixed_files $(@D)/files
	$(EMIT_TEST_DIR)/emit $(@D)/files/mixed.vtap mixed $(@D)/c
	$(MAKE) -s -C $(@D)/c INCLUDES='$(addprefix -I$(CURDIR)/,uapi libvtadev libvtadev/ops libvtadev/cpu libvtadev/program)' \
		LIBS='$(CURDIR)/$(PROG_A) $(CURDIR)/$(LIB_A) $(LIB_LIBS)'
	cp $(@D)/c/main $@

CHECK_PROGRAMS += $(EMIT_TESTS) $(EMIT_BIN) $(call variant,asan,$(OPS_A) $(EMU_LIB))
CHECKS += "vtac-emit=LINK='$(EMIT_LINK)' tests/vtac/emit/run.sh $(EMIT_TESTS) $(OPS_SRCS)"
