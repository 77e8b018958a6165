# SPDX-License-Identifier: GPL-2.0-only
#
# vta-emu: the emulator, and again with sanitizers for the tests, which link
# what they need of it from $(EMU_ASAN_LIB).

EMU_BIN := build/tools/vta-emu
EMU_ASAN_BIN := build/asan/vta-emu
EMU_ASAN_LIB := build/asan/libvta-emu.a

EMU_SRCS := $(wildcard tools/vta-emu/*.c tools/vta-emu/*/*.c)
EMU_OBJS := $(EMU_SRCS:tools/vta-emu/%.c=build/tools/vta-emu.obj/%.o)
EMU_ASAN_OBJS := $(EMU_SRCS:tools/vta-emu/%.c=build/asan/vta-emu.obj/%.o)

EMU_CPPFLAGS := -Iuapi -Icontract -Itools/vta-emu -DVTA_EMU_VERSION='"$(VERSION)"'
EMU_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -pthread
EMU_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
EMU_LIBS := -ljson-c

$(call objects,build/tools/vta-emu.obj,tools/vta-emu,\
	$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(EMU_CFLAGS) $$(CFLAGS))

$(call objects,build/asan/vta-emu.obj,tools/vta-emu,\
	$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(EMU_CFLAGS) $$(EMU_SANITIZE) $$(CFLAGS))

$(EMU_BIN): $(EMU_OBJS)
	@mkdir -p $(@D)
	$(CC) -pthread $(LDFLAGS) -o $@ $^ $(EMU_LIBS)

$(EMU_ASAN_BIN): $(EMU_ASAN_OBJS)
	@mkdir -p $(@D)
	$(CC) -pthread $(EMU_SANITIZE) $(LDFLAGS) -o $@ $^ $(EMU_LIBS)

$(call archive,$(EMU_ASAN_LIB),$(filter-out %/main.o,$(EMU_ASAN_OBJS)))
