# SPDX-License-Identifier: GPL-2.0-only
#
# vta-serve and vta-frigate on the device soft, and on one that fails on request.

SERVE_TEST_DIR := build/tests/serve

$(call program,$(SERVE_TEST_DIR)/libvtadev-flaky.so,tests/devices/flaky.c libvtadev/devices/soft/soft.c,\
	$$(SOFT_CPPFLAGS) -Itests/devices $$(SOFT_CFLAGS) $$(DEVICES_SOFT_NAME),$(filter-out %/soft.o,$(SOFT_OBJS)),-shared $$(EMU_LIBS))
CHECK_PROGRAMS += $(SERVE_TEST_DIR)/libvtadev-flaky.so

CHECKS += $(if $(PYTHON_HAVE),\
	"serve=tests/serve/run.sh test_protocol test_frigate test_load test_hostile" \
	"dask=tests/serve/run.sh test_dask" \
	"@serve-card=tests/in-vm tests/serve/guest.sh $(VM_MODULE)")
