# SPDX-License-Identifier: GPL-2.0-only

$(call program,build/tests/vtactl/worker,tests/vtactl/worker.c,\
	$$(LIB_CPPFLAGS) $$(LIB_WARNINGS) -O2 -g,$(LIB_A),$$(LIB_LIBS))

CLOCK_SO := build/tests/cli/clock.so
$(call program,$(CLOCK_SO),tests/cli/clock.c,-D_GNU_SOURCE -std=gnu11 -Wall -Wextra -Werror -O2 -g -fPIC,,-shared)

CHECK_PROGRAMS += $(CLOCK_SO) build/tests/vtactl/worker $(DIGITS_VTAP)
CHECKS += \
	"@vtactl=tests/in-vm tests/vtactl/guest.sh $(VM_MODULE)" \
	"vtactl-messages=tests/vtactl/messages.py" \
	"vtactl-devices=tests/vtactl/devices.sh $(VTACTL_BIN) $(LIB_DIR)" \
	"vtactl-program=tests/vtactl/program.py $(VTAC_BIN) $(VTACTL_BIN) $(LIB_DIR)" \
	"vtactl-evaluate=tests/vtactl/evaluate.py $(VTAC_BIN) $(VTACTL_BIN) $(LIB_DIR) $(LIB_TEST_DIR)/vtactl" \
	"outputs=tests/cli/output.sh $(VTAC_BIN) $(VTACTL_BIN) $(EMU_BIN) $(HELLO_BIN) $(DIGITS_BIN) \
		$(DIGITS_VTAP)" \
	"progress=tests/cli/progress.py $(VTAC_BIN) $(VTACTL_BIN) $(LIB_DIR) $(CLOCK_SO)" \
	"vtactl-completion=tests/cli/completion.sh $(VTACTL_BIN)"
