# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the library and vtactl without a VM, sanitized. test_vtactl.sh tests the parts that
# read sysfs, against a made-up one.

LIB_TEST_DIR := build/tests/lib
LIB_TEST_OBJS := $(LIB_OBJS) $(LIB_TEST_DIR)/obj/fake.o
# vtactl has a link.h, as the system has.
LIB_TEST_CFLAGS := $(LIB_CPPFLAGS) $(PROG_CPPFLAGS) $(CLI_CPPFLAGS) -Itests/lib -iquote tools/vtactl \
	$(LIB_WARNINGS) -O1 -g

$(call objects,$(LIB_TEST_DIR)/obj,tests/lib,$$(LIB_TEST_CFLAGS))

# $(call lib-test,NAME,OBJECTS,LIBRARIES,VARIANT)
lib-test = $(call test,lib,tests/lib/$(1).c,$$(LIB_TEST_CFLAGS),$(2),$(3) -ljson-c -lm $$(LIB_LIBS),$(4))
$(foreach t,buf copy open share spin submit text trace transfer,\
	$(call lib-test,test_$(t),$(LIB_TEST_OBJS),$(call wrap,ioctl),asan))
$(call lib-test,test_fence,$(LIB_TEST_OBJS),$(call wrap,ioctl vtadev_done),asan)
$(call lib-test,test_wait,$(LIB_TEST_OBJS),$(call wrap,ioctl clock_gettime),asan)
$(call lib-test,test_full,$(LIB_TEST_OBJS),$(call wrap,ioctl malloc calloc realloc pthread_mutex_lock),asan)
$(call lib-test,test_prog,$(LIB_TEST_OBJS) $(PROG_OBJS) $(OPS_A),$(call wrap,ioctl),asan)
# By the other sanitizer, all but the driver's part, which has no threads.
$(call lib-test,test_threads,$(LIB_TEST_OBJS),$(call wrap,ioctl),tsan)
build/tsan/tests/lib/obj/fake.o: SANITIZE_tsan :=
# Uses the public functions alone, on a toy card.
$(call lib-test,test_pipeline,$(LIB_TEST_DIR)/obj/toy.o $(LIB_DIR)/obj/pipeline.o,,asan)
$(call lib-test,test_output,$(OUTPUT_OBJ),,asan)
# vtactl's traces of texts, and metrics of open files.
$(call lib-test,test_tracefs,$(addprefix $(VTACTL_DIR)/,merge.o tracefs.o),,asan)
$(call lib-test,test_metrics,$(addprefix $(VTACTL_DIR)/,metrics_users.o prom.o),,asan)

# For machines on which the sanitizers do not run, and umockdev does not either.
CROSS_PROGRAMS += $(filter-out %/test_threads %/test_metrics,$(filter build/tests/lib/%,$(CHECK_PROGRAMS)))

# As a program that knows nothing but the standard and the headers.
LIB_TEST_STRICT := -std=c11 -pedantic-errors -Wall -Wextra -Wshadow -Wcast-qual -Werror \
	-Iuapi -Ilibvtadev $(PROG_CPPFLAGS) -Ilibvtadev/tvm
$(call test,lib,tests/lib/test_headers.c,$$(LIB_TEST_STRICT),$(LIB_A),$$(LIB_LIBS))

# Linked to the sanitizer's static runtime: a shared one wants to be loaded
# before the library that umockdev preloads.
$(call program,$(LIB_TEST_DIR)/vtactl,,,$(VTACTL_OBJS) $(CLI_OBJ) $(PROGRESS_OBJ) $(PICTURE_OBJS) $(PROG_OBJS) $(OPS_A) \
	$(LIB_OBJS),-static-libasan -static-libubsan $$(VTACTL_LIBS),,asan)

$(LIB_TEST_DIR)/mock.sh: tests/lib/mock.sh tests/tap.sh
	@mkdir -p $(@D)
	install -m 644 -t $(@D) $^

$(LIB_TEST_DIR)/test_%: tests/lib/test_%.sh $(LIB_TEST_DIR)/mock.sh $(LIB_TEST_DIR)/vtactl
	install -m 755 $< $@

$(foreach t,cdi export vtactl,$(call checked,$(LIB_TEST_DIR)/test_$(t),\
	"lib-test_$(t)=$(LIB_TEST_DIR)/test_$(t)"))
