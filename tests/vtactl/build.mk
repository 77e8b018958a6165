# SPDX-License-Identifier: GPL-2.0-only

VTACTL_TESTS := build/tests/vtactl/worker

$(call program,$(VTACTL_TESTS),tests/vtactl/worker.c,\
	$$(LIB_CPPFLAGS) $$(LIB_WARNINGS) -O2 -g,$(LIB_A),$$(LIB_LIBS))

CHECKS += \
	"@vtactl=tests/in-vm tests/vtactl/guest.sh $(VM_MODULE)" \
	"vtactl-messages=tests/vtactl/messages.py" \
	"vtactl-completion=tests/cli/completion.sh $(VTACTL_BIN)"
