# SPDX-License-Identifier: GPL-2.0-only
#
# vtac, the compiler: a static library with one file for each pass, and the command.
# What it takes beside the library's packages is in VTAC_PACKAGES: without them
# everything else is built all the same.

VTAC_PACKAGES := protobuf-c-compiler libprotobuf-c-dev libonnx-dev
VTAC_DIR := build/tools/obj/vtac
VTAC_A := build/tools/libvtac.a
# The command is main.c and cmd_*.c; the library is the rest.
VTAC_CMD_SRCS := $(wildcard tools/vtac/main.c tools/vtac/cmd_*.c)
VTAC_SRCS := $(filter-out $(VTAC_CMD_SRCS),$(wildcard tools/vtac/*.c))
VTAC_HEADERS := $(addprefix tools/vtac/,graph.h interp.h kernel.h libvtac.h passes.h program.h quant.h vtac.h)
VTAC_OBJS := $(VTAC_SRCS:tools/vtac/%.c=$(VTAC_DIR)/%.o) $(VTAC_DIR)/onnx.pb-c.o
VTAC_CPPFLAGS := -Itools/vtac -Ilibvtadev/ops -Ilibvtadev/ops/cpu -I$(VTAC_DIR) -D_GNU_SOURCE
VTAC_CFLAGS := -std=c11 -Wall -Wextra -Wshadow -Werror -O2 -g -fPIC
# They look at every value of every image.
$(addprefix $(VTAC_DIR)/,calibrate.o moments.o): VTAC_CFLAGS += -O3

$(call objects,$(VTAC_DIR),tools/vtac,$$(VTAC_CPPFLAGS) $$(CPPFLAGS) $$(VTAC_CFLAGS) $$(CFLAGS))

# The schema is Debian's libonnx-dev's.
ONNX_PROTO := /usr/include/onnx/onnx.proto
$(VTAC_DIR)/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	protoc-c --c_out=$(@D) -I$(dir $(ONNX_PROTO)) $(notdir $(ONNX_PROTO))

$(VTAC_DIR)/onnx.pb-c.o: $(VTAC_DIR)/onnx.pb-c.c
	$(CC) $(CPPFLAGS) -std=c11 -O2 -g -fPIC $(CFLAGS) -c -o $@ $<

$(VTAC_DIR)/onnx.pb-c.h: $(VTAC_DIR)/onnx.pb-c.c ;
$(addprefix $(VTAC_DIR)/,$(notdir $(patsubst %.c,%.o,$(wildcard tools/vtac/onnx*.c)))): \
	$(VTAC_DIR)/onnx.pb-c.h

$(call archive,$(VTAC_A),$(VTAC_OBJS))

# The command reads configurations as the emulator does.
VTAC_BIN := build/tools/vtac
VTAC_CMD_OBJS := $(VTAC_CMD_SRCS:tools/vtac/%.c=$(VTAC_DIR)/%.o) $(VTAC_DIR)/core_config.o
VTAC_LIBS := -lprotobuf-c -lm -pthread
$(VTAC_CMD_OBJS): VTAC_CPPFLAGS += $(LIB_CPPFLAGS) -Icard -Itools/picture

$(call objects,$(VTAC_DIR),card/core,$$(EMU_CPPFLAGS) $$(CPPFLAGS) -std=gnu11 -O2 -g $$(CFLAGS))

$(VTAC_BIN): $(VTAC_CMD_OBJS) $(PICTURE_OBJS) $(VTAC_A) $(PROG_A) $(OPS_A) $(LIB_A)
	$(CC) $(LDFLAGS) -o $@ $^ $(VTAC_LIBS) $(PICTURE_LIBS) -ljson-c $(LIB_LIBS)

# With its packages it is part of what `make` builds.
VTAC_HAVE := $(and $(wildcard $(ONNX_PROTO)),$(shell command -v protoc-c 2>/dev/null))

.PHONY: vtac
vtac:
	@tools/vm/deps.sh need $(BUILD_PACKAGES) $(VTAC_PACKAGES)
	@$(MAKE) --no-print-directory $(VTAC_BIN)

.PHONY: install-vtac-completion
install-vtac-completion:
	install -m 644 -D tools/vtac/completion/vtac.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/vtac
	install -m 644 -D tools/vtac/completion/_vtac $(DESTDIR)$(ZSH_DIR)/_vtac
