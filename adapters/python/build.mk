# SPDX-License-Identifier: Apache-2.0
#
# vtadev.compile(): one extension module with the compiler inside, for Python 3.11 and later. It
# needs VTAC_PACKAGES besides the Python package's; without them vtadev runs programs alone.

COMPILER_SO := $(PYTHON_OUT)/_compiler.abi3.so
COMPILER_OBJ := $(addprefix build/python/compiler/,compiler.o picture.o)
COMPILER_CFLAGS = -Icompiler/api $(LIB_CPPFLAGS) $(PROG_CPPFLAGS) -Ilibvtadev/picture -isystem $(dir $(PYTHON_H)) $(LIB_CFLAGS)

$(call objects,build/python/compiler,adapters/python,$$(COMPILER_CFLAGS) $$(CPPFLAGS) $$(CFLAGS))

$(COMPILER_SO): $(COMPILER_OBJ) $(PICTURE_OBJS) $(VTAC_LIB) $(PROG_A) $(LIB_A) adapters/python/exports.map
	@mkdir -p $(@D)
	$(CC) -shared -Wl,--version-script=adapters/python/exports.map -Wl,-z,relro,-z,now $(LDFLAGS) \
		-o $@ $(filter %.o %.a,$^) $(VTAC_LIBS) $(PICTURE_LIBS) $(LIB_LIBS)

# The parts that make python builds and make install-python installs.
.PHONY: python-built
python-built: $(PYTHON_BUILT)

# A wheel has all in one directory: extension modules with the libraries inside, the device soft, and the
# shared libraries of others, but for glibc, libudev and OpenCL's loader, which belong to the machine. RPATH is
# the old kind, as it also serves the libraries that these need.
WHEEL_PACKAGES := python3-pip python3-setuptools python3-wheel
WHEEL_OUT := build/wheel/parts
WHEEL_SO := $(addprefix $(WHEEL_OUT)/,_core.abi3.so _compiler.abi3.so libvtadev-soft.so)
WHEEL_LDFLAGS = -shared -Wl,--disable-new-dtags,-rpath,'$$ORIGIN' -Wl,-z,relro,-z,now $(LDFLAGS)
WHEEL_FOREIGN := /(ld-linux|lib(c|m|dl|rt|pthread|gcc_s|udev|cap|OpenCL))[-.]

$(WHEEL_OUT)/_core.abi3.so: $(PYTHON_OBJS) $(PROG_A) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(WHEEL_LDFLAGS) -Wl,--exclude-libs,ALL -o $@ $^ $(LIB_LIBS)

$(WHEEL_OUT)/_compiler.abi3.so: $(COMPILER_OBJ) $(PICTURE_OBJS) $(VTAC_LIB) $(PROG_A) $(LIB_A) adapters/python/exports.map
	@mkdir -p $(@D)
	$(CC) $(WHEEL_LDFLAGS) -Wl,--version-script=adapters/python/exports.map \
		-o $@ $(filter %.o %.a,$^) $(VTAC_LIBS) $(PICTURE_LIBS) $(LIB_LIBS)

$(WHEEL_OUT)/libvtadev-soft.so: $(SOFT_OBJS)
	@mkdir -p $(@D)
	$(CC) $(WHEEL_LDFLAGS) -Wl,-soname,$(@F) -o $@ $^ $(EMU_LIBS)

# libvtadev/python/setup.py calls it, with the package's directory.
.PHONY: wheel wheel-parts
wheel-parts: $(if $(and $(PYTHON_HAVE),$(VTAC_HAVE)),$(WHEEL_SO),wheel-lacks)
	@mkdir -p '$(WHEEL_PACKAGE)'
	@libraries=$$(ldd $(WHEEL_SO) | awk '$$3 ~ "^/" && $$3 !~ "$(WHEEL_FOREIGN)" { print $$3 }' | sort -u) && \
		cp -L $(WHEEL_SO) $$libraries '$(WHEEL_PACKAGE)'

.PHONY: wheel-lacks
wheel-lacks:
	@echo 'a wheel takes the packages $(PYTHON_PACKAGES) $(VTAC_PACKAGES)' >&2; exit 1

wheel:  ## a Python wheel with the compiler and the device soft inside: build/wheel/*.whl
	@tools/vm/deps.sh need $(BUILD_PACKAGES) $(PYTHON_PACKAGES) $(VTAC_PACKAGES) $(WHEEL_PACKAGES)
	@rm -rf build/wheel/lib.* build/wheel/*.whl
	@$(PYTHON) -m pip --disable-pip-version-check wheel -q --no-index --no-deps --no-build-isolation -w build/wheel libvtadev/python
	@ls build/wheel/*.whl
