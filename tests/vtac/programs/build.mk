# SPDX-License-Identifier: GPL-2.0-only
#
# Programs that the compiler makes, on the emulator's core without a VM.

VTAC_PROG_DIR := build/tests/vtac/programs
VTAC_PROG_TESTS := $(patsubst %.c,build/%,$(wildcard tests/vtac/programs/test_*.c))
VTAC_PROG_HELPERS := $(addprefix $(VTAC_PROG_DIR)/obj/,native.o graphs.o)

VTAC_PROG_FLAGS = $(VTAC_CPPFLAGS) $(EMU_CPPFLAGS) $(CPPFLAGS) $(VTAC_CFLAGS) $(CFLAGS)
VTAC_ACCURACY := $(VTAC_PROG_DIR)/accuracy

$(call objects,$(VTAC_PROG_DIR)/obj,tests/vtac/programs,$$(VTAC_PROG_FLAGS))

$(foreach t,$(VTAC_PROG_TESTS),$(call test,vtac,$(t:build/%=%.c),$$(VTAC_PROG_FLAGS),\
	$(VTAC_PROG_HELPERS) $(VTAC_A) $(OPS_A) $(EMU_LIB),$$(VTAC_LIBS) $$(EMU_LIBS)))
$(call program,$(VTAC_ACCURACY),tests/vtac/programs/accuracy.c,$$(VTAC_PROG_FLAGS),\
	$(VTAC_PROG_HELPERS) $(VTAC_A) $(OPS_A) $(EMU_LIB),$$(VTAC_LIBS) $$(EMU_LIBS))

CHECK_PROGRAMS += $(VTAC_ACCURACY)
CHECKS += \
	"vtac-forms=tests/vtac/forms.py $(VTAC_BIN) $(VTAC_ACCURACY)" \
	"vtac-scales=tests/vtac/scales.py $(VTAC_BIN) $(VTAC_ACCURACY)" \
	"vtac-models=tests/vtac/programs/models.sh -n 500 $(VTAC_ACCURACY) mnist ppocr"
