# SPDX-License-Identifier: GPL-2.0-only
#
# Manual pages. Section 3 is made from the headers, section 1 from what the
# programs say of themselves, vta(4) has the parameters from the sources.

MAN_DIR := build/man
MAN_PACKAGES := help2man python3
MAN_HEADERS := libvtadev/vtadev.h libvtadev/vtadev_desc.h libvtadev/vtadev_pipeline.h $(addprefix libvtadev/program/,vtadev_bench.h vtadev_pool.h vtaimage.h vtaprog.h)
# The day of the last change, so that the same sources make the same pages.
MAN_DATE = $(shell LC_ALL=C date -u -d "@$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || \
	stat -c %Y CHANGELOG.md)}" '+%B %-d, %Y')
MAN_1 := $(addprefix $(MAN_DIR)/man1/,vtactl.1 vta-emu.1 vta-vm.1 \
	$(if $(VTAC_HAVE),vtac.1) $(if $(PYTHON_HAVE),vta-serve.1 vta-frigate.1))

# $(call help-to-man,NAME,OPTION,WHAT,PROGRAM)
help-to-man = help2man --no-info --section=1 --version-string='$(1) $(VERSION)' \
	--help-option=$(2) --source='vta-pcie $(VERSION)' --name='$(3)' \
	--include=docs/man/$(1).h2m --output=$@.tmp $(4) && \
	python3 docs/man/man1.py $@.tmp '$(MAN_DATE)' $@ && rm $@.tmp

$(MAN_DIR)/man1/vtactl.1: $(VTACTL_BIN) docs/man/vtactl.h2m docs/man/man1.py
	@mkdir -p $(@D)
	$(call help-to-man,vtactl,--help-all,administration of VTA accelerator cards,$<)

$(MAN_DIR)/man1/vtac.1: $(VTAC_BIN) docs/man/vtac.h2m docs/man/man1.py
	@mkdir -p $(@D)
	$(call help-to-man,vtac,--help-all,compile trained networks for VTA accelerator cards,$<)

$(MAN_DIR)/man1/vta-serve.1: adapters/serve/vta-serve adapters/serve/vtaserve/options.py docs/man/vta-serve.h2m docs/man/man1.py
	@mkdir -p $(@D)
	$(call help-to-man,vta-serve,--help,serve models on VTA accelerator cards,$<)

$(MAN_DIR)/man1/vta-frigate.1: adapters/serve/vta-frigate docs/man/vta-frigate.h2m docs/man/man1.py
	@mkdir -p $(@D)
	$(call help-to-man,vta-frigate,--help,detect objects for Frigate on VTA accelerator cards,$<)

$(MAN_DIR)/man1/vta-emu.1: $(EMU_BIN) docs/man/vta-emu.h2m docs/man/man1.py
	@mkdir -p $(@D)
	$(call help-to-man,vta-emu,--help,an emulated VTA accelerator card,$<)

$(MAN_DIR)/man1/vta-vm.1: tools/vm/vm docs/man/vta-vm.h2m docs/man/man1.py
	@mkdir -p $(@D)
	$(call help-to-man,vta-vm,help,run a command in a virtual machine with emulated VTA cards,$<)

$(MAN_DIR)/man4/vta.4: docs/man/vta.4 docs/man/man4.py $(wildcard kmod/*.c)
	@mkdir -p $(@D)
	python3 docs/man/man4.py $< $(wildcard kmod/*.c) > $@

$(MAN_DIR)/man3/vtadev.3: docs/man/man3.py $(MAN_HEADERS)
	rm -rf $(@D)
	python3 docs/man/man3.py $(@D) $(VERSION) '$(MAN_DATE)' $(MAN_HEADERS)

.PHONY: man
man: $(MAN_1) $(MAN_DIR)/man3/vtadev.3 $(MAN_DIR)/man4/vta.4

# Without the two packages everything else is installed all the same.
.PHONY: install-man
install-man:
	@if command -v help2man python3 >/dev/null; then \
		$(MAKE) --no-print-directory install-man-pages; \
	else \
		echo 'SKIP manual pages: they take $(MAN_PACKAGES)'; \
	fi

.PHONY: install-man-pages
install-man-pages: man
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/man/,man1 man3 man4)
	install -m 644 $(MAN_1) $(DESTDIR)$(PREFIX)/share/man/man1
	cp -P $(MAN_DIR)/man3/*.3 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(MAN_DIR)/man4/vta.4 $(DESTDIR)$(PREFIX)/share/man/man4
