# SPDX-License-Identifier: Apache-2.0
#
# libvtadev, shared and static. Programs of this tree compile with
# $(LIB_CPPFLAGS) and link $(LIB_A) $(LIB_LIBS).

OBJCOPY ?= objcopy

LIB_DIR := build/lib
LIB_SONAME := libvtadev.so.1
LIB_SO := $(LIB_DIR)/libvtadev.so.$(VERSION)
LIB_A := $(LIB_DIR)/libvtadev.a

LIB_SRCS := $(addprefix libvtadev/, \
	buf.c card.c clock.c copy.c counters.c dev.c dmabuf.c error.c fault.c fence.c \
	info.c lost.c open_text.c output.c pipeline.c queue.c spin.c status.c trace.c trace_file.c transfer.c wait.c) \
	$(wildcard libvtadev/local/*.c)
LIB_HEADERS := libvtadev/vtadev.h libvtadev/vtadev_desc.h libvtadev/vtadev_device.h libvtadev/vtadev_pipeline.h uapi/vta.h
LIB_OBJS := $(LIB_SRCS:libvtadev/%.c=$(LIB_DIR)/obj/%.o)
# For programs: the libraries export no part of it.
OUTPUT_OBJ := $(LIB_DIR)/obj/output.o
# Of libvtaprog and of the compiler, each of which has it to itself.
CREW_OBJ := $(LIB_DIR)/obj/crew.o

LIB_CPPFLAGS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Iuapi -Icontract -Ilibvtadev
# For programs that use operators, program images or the CPU's kernels.
PROG_CPPFLAGS := -Ilibvtadev/ops -Ilibvtadev/cpu -Ilibvtadev/program
LIB_WARNINGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror
LIB_CFLAGS := $(LIB_WARNINGS) -O2 -g -fPIC
LIB_LIBS := -ludev -pthread -ldl

# The directory in which programs that are linked statically find plugins.
$(LIB_DIR)/obj/local/plugin.o: LIB_CPPFLAGS += -DVTADEV_PLUGIN_DIR='"$(LIBDIR)"'

$(call objects,$(LIB_DIR)/obj,libvtadev,$$(LIB_CPPFLAGS) $$(CPPFLAGS) $$(LIB_CFLAGS) $$(CFLAGS))

$(call library,libvtadev,$(LIB_SONAME),$(LIB_OBJS),libvtadev/libvtadev.map,$(LIB_HEADERS),\
	libvtadev/vtadev.pc.in,$(LIB_LIBS))
