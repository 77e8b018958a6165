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
