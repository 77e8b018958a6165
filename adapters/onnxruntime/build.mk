# SPDX-License-Identifier: Apache-2.0
#
# The execution provider for ONNX Runtime: one file that holds the compiler and the libraries. The
# headers are those of Debian's libonnxruntime-dev from 1.23 on (Debian 12 and 13 have none).

ORT_INCLUDE ?= $(patsubst %/,%,$(dir $(firstword $(wildcard \
	/usr/include/onnxruntime/onnxruntime_ep_c_api.h))))
ORT_SO := build/lib/libvtadev-onnxruntime.so
ORT_SRCS := $(wildcard adapters/onnxruntime/*.c)
ORT_OBJS := $(ORT_SRCS:adapters/%.c=build/adapters/%.o)
ORT_CPPFLAGS = -D_GNU_SOURCE -Icompiler/api -I$(VTAC_DIR) $(PROG_CPPFLAGS) $(LIB_CPPFLAGS) -isystem $(ORT_INCLUDE)
ORT_CFLAGS := -std=c11 -Wall -Wextra -Wshadow -Werror -O2 -g -fPIC

$(call objects,build/adapters,adapters,$$(ORT_CPPFLAGS) $$(CPPFLAGS) $$(ORT_CFLAGS) $$(CFLAGS))

ORT_LINKED = $(VTAC_DIR)/onnx.pb-c.o $(VTAC_LIB) $(PROG_A) $(LIB_A)
$(call each,$(ORT_OBJS)): $(VTAC_DIR)/onnx.pb-c.h
# Of build/tsan, the provider's own code alone is for ThreadSanitizer.
define ort-rule
$(call variant,$(1),$(ORT_SO)): $(call variant,$(1),$(ORT_OBJS)) $(ORT_LINKED) adapters/onnxruntime/exports.map
	@mkdir -p $$(@D)
	$$(CC) -shared $(1:%=$$(SANITIZE_%)) -Wl,--version-script=adapters/onnxruntime/exports.map \
		$(if $(1),,-Wl$(comma)-z$(comma)defs) -Wl,-z,relro,-z,now $$(LDFLAGS) -o $$@ $$(filter %.o %.a,$$^) $$(VTAC_LIBS) $$(LIB_LIBS)
endef
$(foreach v,- tsan,$(eval $(call ort-rule,$(v:-=))))

ORT_HAVE := $(and $(VTAC_HAVE),$(ORT_INCLUDE))

.PHONY: onnxruntime
onnxruntime: $(ORT_SO)  ## the execution provider for ONNX Runtime: docs/onnxruntime.md
