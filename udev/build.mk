# SPDX-License-Identifier: GPL-2.0-only
#
# Rules for the nodes. They belong to the group render, as those of other
# accelerators; a system without it gets a group of its own, vta, by
# udev/vta.sysusers.

UDEV_GROUP ?= $(shell getent group render >/dev/null && echo render || echo vta)
UDEV_RULES := build/udev/60-vta.rules
# The directories in which udev and systemd find packages' files; another prefix keeps its own.
UDEV_DIR ?= $(if $(filter /usr,$(PREFIX)),/lib,$(PREFIX)/lib)/udev/rules.d
# udev does not read it; administrators who use containers link it (docs/containers.md).
UDEV_CDI := build/udev/61-vta-cdi.rules
SYSUSERS_DIR ?= $(PREFIX)/lib/sysusers.d

$(call filled,$(UDEV_RULES),udev/60-vta.rules.in)

$(call filled,$(UDEV_CDI),udev/61-vta-cdi.rules.in)

.PHONY: install-udev
install-udev: $(UDEV_RULES) $(UDEV_CDI)
	install -d $(DESTDIR)$(UDEV_DIR) $(DESTDIR)$(SYSUSERS_DIR)
	install -m 644 -Dt $(DESTDIR)$(PREFIX)/share/vtadev/cdi $(UDEV_CDI)
	install -m 644 $(UDEV_RULES) $(DESTDIR)$(UDEV_DIR)
	if [ '$(UDEV_GROUP)' = vta ]; then \
		install -m 644 udev/vta.sysusers $(DESTDIR)$(SYSUSERS_DIR)/vta.conf; fi

CHECK_PROGRAMS += $(UDEV_RULES)
CHECKS += "@udev=tests/in-vm tests/udev/guest.sh $(VM_MODULE) $(UDEV_RULES) $(UDEV_GROUP)"
