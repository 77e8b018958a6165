# SPDX-License-Identifier: GPL-2.0-only

$(call program,build/tests/vtactl/worker,tests/vtactl/worker.c,\
	$$(LIB_CPPFLAGS) $$(LIB_WARNINGS) -O2 -g,$(LIB_A),$$(LIB_LIBS))

CHECK_PROGRAMS += build/tests/vtactl/worker
CHECKS += \
	"@vtactl=tests/in-vm tests/vtactl/guest.sh $(VM_MODULE)" \
	"vtactl-messages=tests/vtactl/messages.py" \
	"vtactl-completion=tests/cli/completion.sh $(VTACTL_BIN)"
