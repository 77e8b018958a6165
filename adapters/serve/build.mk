# SPDX-License-Identifier: Apache-2.0
#
# vta-serve and vta-frigate: Python above the package vtadev, with nothing to build. They run with
# SERVE_PACKAGES.

SERVE_PACKAGES := python3-aiohttp python3-prometheus-client python3-zmq
SERVE_PROGRAMS := $(addprefix adapters/serve/,vta-serve vta-frigate)
SERVE_MODULES := $(wildcard adapters/serve/vtaserve/*.py)
SERVE_DIR ?= $(PREFIX)/share/vtadev/serve
SYSTEMD_DIR ?= $(PREFIX)/lib/systemd/system

.PHONY: serve
serve: python  ## what vta-serve and vta-frigate need: docs/serving.md
	@tools/vm/deps.sh need $(SERVE_PACKAGES)

$(call filled,build/serve/vta-serve.service,adapters/serve/vta-serve.service.in)

.PHONY: install-serve
install-serve: build/serve/vta-serve.service
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(SYSTEMD_DIR)
	install -m 755 -Dt $(DESTDIR)$(SERVE_DIR) $(SERVE_PROGRAMS)
	install -m 644 -Dt $(DESTDIR)$(SERVE_DIR)/vtaserve $(SERVE_MODULES)
	install -m 644 -Dt $(DESTDIR)$(SERVE_DIR) adapters/serve/Containerfile
	for program in $(notdir $(SERVE_PROGRAMS)); do \
		ln -sf ../share/vtadev/serve/$$program $(DESTDIR)$(PREFIX)/bin/$$program; done
	install -m 644 build/serve/vta-serve.service $(DESTDIR)$(SYSTEMD_DIR)
