# SPDX-License-Identifier: Apache-2.0
#
# libvtaprog, shared and static: programs on cards and pools of cards, with program images, the
# operators and the CPU's kernels. Programs of this tree link $(PROG_A) before $(LIB_A).

PROG_SONAME := libvtaprog.so.1
PROG_SO := $(LIB_DIR)/libvtaprog.so.$(VERSION)
PROG_A := $(LIB_DIR)/libvtaprog.a

PROG_SRCS := $(addprefix libvtadev/program/,bench.c bench_inputs.c bench_parts.c pool.c pool_caller.c pool_card.c \
	pool_watch.c profile.c prog_threads.c vtaprog.c)
PROG_HEADERS := $(addprefix libvtadev/program/,vtadev_bench.h vtadev_pool.h vtaprog.h) $(OPS_HEADERS)
PROG_OBJS := $(PROG_SRCS:libvtadev/%.c=$(LIB_DIR)/obj/%.o) $(CREW_OBJ)

$(call each,$(PROG_OBJS)): LIB_CPPFLAGS += $(PROG_CPPFLAGS)

$(call library,libvtaprog,$(PROG_SONAME),$(PROG_OBJS) $(OPS_OBJS),libvtadev/program/libvtaprog.map,\
	$(PROG_HEADERS),libvtadev/program/vtaprog.pc.in,$(LIB_SO) -ludev)
