# SPDX-License-Identifier: Apache-2.0
#
# The Python package vtadev. One binary for Python 3.11 and later: which of their headers
# it is compiled with does not matter. It needs PYTHON_PACKAGES besides the library's packages:
# without them everything else is built all the same.

PYTHON_PACKAGES := python3 libpython3-dev libdlpack-dev
PYTHON ?= /usr/bin/python3
PYTHON_OLD := $(addprefix %/python3.,$(addsuffix /Python.h,6 7 8 9 10))
PYTHON_H = $(lastword $(filter-out $(PYTHON_OLD),$(shell ls /usr/include/python3.*/Python.h 2>/dev/null)))
PYTHON_HAVE = $(and $(PYTHON_H),$(shell ls /usr/include/dlpack/dlpack.h 2>/dev/null))
# Directory of installation: Debian's for packages, or the one below another prefix.
PYTHON_DIR ?= $(PREFIX)/lib/$(if $(filter /usr,$(PREFIX)),python3,$(notdir $(patsubst %/,%,$(dir $(PYTHON_H)))))/dist-packages

PYTHON_OUT := build/python/vtadev
PYTHON_SO := $(PYTHON_OUT)/_core.abi3.so
PYTHON_SRCS := $(wildcard libvtadev/python/*.c)
PYTHON_OBJS := $(PYTHON_SRCS:libvtadev/python/%.c=build/python/obj/%.o)
PYTHON_TEXTS := $(addprefix $(PYTHON_OUT)/,$(notdir $(wildcard libvtadev/python/vtadev/*.py*)) py.typed)
# With the compiler (adapters/python), if its packages are there.
PYTHON_BUILT = $(PYTHON_SO) $(PYTHON_TEXTS) $(if $(VTAC_HAVE),$(COMPILER_SO))
PYTHON_CFLAGS := $(LIB_CPPFLAGS) $(PROG_CPPFLAGS) -isystem $(dir $(PYTHON_H)) $(LIB_CFLAGS) -fvisibility=hidden

$(call objects,build/python/obj,libvtadev/python,$$(PYTHON_CFLAGS) $$(CPPFLAGS) $$(CFLAGS))

# The interpreter that loads it has the symbols of Python.
$(PYTHON_SO): $(PYTHON_OBJS) $(PROG_SO) $(LIB_SO)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-z,relro,-z,now $(LDFLAGS) -o $@ $^

$(PYTHON_TEXTS): $(PYTHON_OUT)/%: libvtadev/python/vtadev/%
	@mkdir -p $(@D)
	cp $< $@

.PHONY: python
python:  ## the Python package: docs/python.md
	@tools/vm/deps.sh need $(BUILD_PACKAGES) $(PYTHON_PACKAGES)
	@$(MAKE) --no-print-directory python-built

.PHONY: install-python
install-python: python-built
	install -d $(DESTDIR)$(PYTHON_DIR)/vtadev
	install -m 644 $(PYTHON_BUILT) $(DESTDIR)$(PYTHON_DIR)/vtadev

CHECKS += "python=tests/python/run.sh" "python-wheel=tests/python/wheel.sh" \
	$(if $(PYTHON_HAVE),"@python-card=tests/in-vm tests/python/guest.sh $(VM_MODULE)")
