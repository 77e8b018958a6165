# SPDX-License-Identifier: GPL-2.0-only
#
# vta-emu, the emulated card: the core, the card's model, and the program around them. It is
# built again with sanitizers for the tests, which link what they need from $(EMU_ASAN_LIB).

# The core is also a part of the device soft and of the compiler.
CORE_SRCS := $(wildcard card/core/*.c)

EMU_BIN := build/tools/vta-emu
EMU_ASAN_BIN := build/asan/vta-emu
EMU_ASAN_LIB := build/asan/libvta-emu.a

EMU_SRCS := $(CORE_SRCS) $(wildcard card/model/*.c card/emulator/*.c card/emulator/vfu/*.c)
EMU_OBJS := $(EMU_SRCS:card/%.c=build/tools/vta-emu.obj/%.o)
EMU_ASAN_OBJS := $(EMU_SRCS:card/%.c=build/asan/vta-emu.obj/%.o) build/asan/cli.obj/cli.o

EMU_CPPFLAGS := -Iuapi -Icontract -Icard $(CLI_CPPFLAGS) -DVTA_EMU_VERSION='"$(VERSION)"'
EMU_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -pthread
EMU_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
EMU_LIBS := -ljson-c

$(call objects,build/tools/vta-emu.obj,card,\
	$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(EMU_CFLAGS) $$(CFLAGS))

$(call objects,build/asan/vta-emu.obj,card,\
	$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(EMU_CFLAGS) $$(EMU_SANITIZE) $$(CFLAGS))

$(call objects,build/asan/cli.obj,tools/cli,$$(CPPFLAGS) $$(EMU_CFLAGS) $$(EMU_SANITIZE) $$(CFLAGS))

$(EMU_BIN): $(EMU_OBJS) $(CLI_OBJ)
	@mkdir -p $(@D)
	$(CC) -pthread $(LDFLAGS) -o $@ $^ $(EMU_LIBS)

$(EMU_ASAN_BIN): $(EMU_ASAN_OBJS)
	@mkdir -p $(@D)
	$(CC) -pthread $(EMU_SANITIZE) $(LDFLAGS) -o $@ $^ $(EMU_LIBS)

$(call archive,$(EMU_ASAN_LIB),$(filter-out %/emulator/main.o,$(EMU_ASAN_OBJS)))
