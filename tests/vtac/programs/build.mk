# SPDX-License-Identifier: GPL-2.0-only
#
# Programs that the compiler makes, on the emulator's core without a VM.

VTAC_PROG_DIR := build/tests/vtac/programs
VTAC_PROG_TESTS := $(patsubst tests/vtac/programs/%.c,$(VTAC_PROG_DIR)/%, \
	$(wildcard tests/vtac/programs/test_*.c))
VTAC_PROG_OBJS := $(patsubst tests/vtac/programs/%.c,$(VTAC_PROG_DIR)/obj/%.o, \
	$(wildcard tests/vtac/programs/*.c))
VTAC_PROG_HELPERS := $(addprefix $(VTAC_PROG_DIR)/obj/,native.o graphs.o)

$(call objects,$(VTAC_PROG_DIR)/obj,tests/vtac/programs,\
	$$(VTAC_CPPFLAGS) $$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(VTAC_CFLAGS) $$(CFLAGS))

$(VTAC_PROG_TESTS): $(VTAC_PROG_DIR)/%: $(VTAC_PROG_DIR)/obj/%.o $(VTAC_PROG_HELPERS) $(VTAC_A) \
		$(OPS_A) $(filter-out %/main.o %/opt.o,$(EMU_OBJS))
	$(CC) -pthread -o $@ $^ -lcmocka $(VTAC_LIBS) $(EMU_LIBS)

VTAC_ACCURACY := $(VTAC_PROG_DIR)/accuracy
$(VTAC_ACCURACY): $(VTAC_PROG_DIR)/obj/accuracy.o $(VTAC_PROG_HELPERS) $(VTAC_INPUT_OBJS) $(VTAC_A) $(OPS_A) \
		$(filter-out %/main.o %/opt.o,$(EMU_OBJS))
	$(CC) -pthread -o $@ $^ $(VTAC_LIBS) $(EMU_LIBS)

CHECKS += \
	$(foreach t,$(VTAC_PROG_TESTS),"vtac-$(notdir $(t))=$(t)") \
	"vtac-models=tests/vtac/programs/models.sh -n 500 $(VTAC_ACCURACY) mnist ppocr"
