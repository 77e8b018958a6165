# SPDX-License-Identifier: GPL-2.0-only
#
# vta-emu, the emulated card: the core, the card's model, and the program around them. It is
# built again with sanitizers for the tests, which link parts of it from $(EMU_LIB).

# The core is also a part of the device soft and of the compiler.
CORE_SRCS := $(wildcard card/core/*.c)

EMU_BIN := build/tools/vta-emu
EMU_ASAN_BIN := build/asan/vta-emu
EMU_LIB := build/tools/libvta-emu.a

include card/rtl/build.mk

EMU_SRCS := $(CORE_SRCS) $(wildcard card/model/*.c card/emulator/*.c card/emulator/vfu/*.c)
EMU_OBJS := $(EMU_SRCS:card/%.c=build/tools/vta-emu.obj/%.o)

EMU_CPPFLAGS := -Iuapi -Icontract -Icard $(CLI_CPPFLAGS) -DVTA_EMU_VERSION='"$(VERSION)"'
EMU_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g -pthread
EMU_LIBS := -ljson-c

$(call objects,build/tools/vta-emu.obj,card,\
	$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(EMU_CFLAGS) $$(CFLAGS))

$(call program,$(EMU_BIN),,,$(EMU_OBJS) $(CLI_OBJ),$$(EMU_LIBS))
$(call program,$(EMU_ASAN_BIN),,,$(EMU_OBJS) $(CLI_OBJ),$$(EMU_LIBS),,asan)
CHECK_PROGRAMS += $(EMU_ASAN_BIN)
$(call program,$(RTL_EMU),card/rtl/card.c,$$(EMU_CPPFLAGS) $$(CPPFLAGS) $$(EMU_CFLAGS) $$(CFLAGS),\
	$(filter-out $(patsubst card/%.c,build/tools/vta-emu.obj/%.o,$(wildcard card/model/*.c)),$(EMU_OBJS)) \
	$(addprefix build/tools/vta-emu.obj/model/,inject.o log.o) $(CLI_OBJ),$$(EMU_LIBS) -ldl)

$(call archive,$(EMU_LIB),$(filter-out %/emulator/main.o,$(EMU_OBJS)) $(CLI_OBJ))
