# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the library and vtactl without a VM, sanitized. test_vtactl.sh tests what
# reads sysfs, against a made-up one.

LIB_TEST_DIR := build/tests/lib
LIB_TEST_BINS := $(addprefix $(LIB_TEST_DIR)/, \
	test_buf test_copy test_fence test_full test_open test_prog test_share test_spin \
	test_submit test_text test_trace test_transfer test_wait)
LIB_TESTS := $(LIB_TEST_BINS) $(LIB_TEST_DIR)/test_headers $(LIB_TEST_DIR)/test_pipeline \
	$(LIB_TEST_DIR)/test_threads \
	$(addprefix $(LIB_TEST_DIR)/, test_cdi test_export test_metrics test_tracefs test_vtactl)

LIB_TEST_LIB_OBJS := $(LIB_SRCS:libvtadev/%.c=$(LIB_TEST_DIR)/obj/lib/%.o)
LIB_TEST_OBJS := $(LIB_TEST_LIB_OBJS) $(LIB_TEST_DIR)/obj/fake.o
# tests/kernels/userspace.sh goes without, where the sanitizers do not run.
LIB_TEST_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
LIB_TEST_CFLAGS := $(LIB_CPPFLAGS) -Itests/lib $(LIB_WARNINGS) -O1 -g $(LIB_TEST_SANITIZE)

$(call objects,$(LIB_TEST_DIR)/obj/lib,libvtadev,$$(LIB_TEST_CFLAGS))

$(call objects,$(LIB_TEST_DIR)/obj,tests/lib,$$(LIB_TEST_CFLAGS))

$(LIB_TEST_BINS): $(LIB_TEST_DIR)/%: $(LIB_TEST_DIR)/obj/%.o $(LIB_TEST_OBJS)
	$(CC) $(LIB_TEST_SANITIZE) -Wl,--wrap=ioctl $(LIB_TEST_WRAP) -o $@ $^ -lcmocka -pthread -ljson-c $(LIB_LIBS)

$(LIB_TEST_DIR)/test_fence: LIB_TEST_WRAP := -Wl,--wrap=vtadev_done
$(LIB_TEST_DIR)/test_wait: LIB_TEST_WRAP := -Wl,--wrap=clock_gettime
$(LIB_TEST_DIR)/test_full: LIB_TEST_WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=pthread_mutex_lock

# Pools, and what runs program images for them, by both sanitizers.
LIB_TEST_POOL_OBJS := $(PROG_SRCS:libvtadev/%.c=$(LIB_TEST_DIR)/obj/lib/%.o)
LIB_TEST_POOL_THREADS_OBJS := $(PROG_SRCS:libvtadev/%.c=$(LIB_TEST_DIR)/obj/threads/lib/%.o)
$(LIB_TEST_POOL_OBJS): LIB_TEST_CFLAGS += $(PROG_CPPFLAGS)
$(LIB_TEST_POOL_THREADS_OBJS): LIB_TEST_THREADS_CFLAGS += $(PROG_CPPFLAGS)

# Programs run by libvtaprog.
$(LIB_TEST_DIR)/obj/test_prog.o: LIB_TEST_CFLAGS += $(PROG_CPPFLAGS)
$(LIB_TEST_DIR)/test_prog: $(PROG_A)

# By the other sanitizer, all but the driver's part, which has no threads.
LIB_TEST_THREADS_CFLAGS := $(LIB_CPPFLAGS) -Itests/lib $(LIB_WARNINGS) -O1 -g -fsanitize=thread
LIB_TEST_THREADS_OBJS := $(LIB_SRCS:libvtadev/%.c=$(LIB_TEST_DIR)/obj/threads/lib/%.o) \
	$(addprefix $(LIB_TEST_DIR)/obj/threads/, test_threads.o fake.o)

$(call objects,$(LIB_TEST_DIR)/obj/threads/lib,libvtadev,$$(LIB_TEST_THREADS_CFLAGS))

$(call objects,$(LIB_TEST_DIR)/obj/threads,tests/lib,$$(LIB_TEST_THREADS_CFLAGS))

$(LIB_TEST_DIR)/obj/threads/fake.o: LIB_TEST_THREADS_CFLAGS += -fno-sanitize=thread

$(LIB_TEST_DIR)/test_threads: $(LIB_TEST_THREADS_OBJS)
	$(CC) -fsanitize=thread -Wl,--wrap=ioctl -o $@ $^ -lcmocka -pthread -ljson-c $(LIB_LIBS)

# As a program that knows nothing but the standard and the headers.
LIB_TEST_STRICT := -std=c11 -pedantic-errors -Wall -Wextra -Wshadow -Wcast-qual -Werror \
	-Iuapi -Ilibvtadev $(PROG_CPPFLAGS) -Ilibvtadev/tvm

$(LIB_TEST_DIR)/test_headers: tests/lib/test_headers.c $(LIB_A)
	@mkdir -p $(LIB_TEST_DIR)/obj
	$(CC) $(LIB_TEST_STRICT) -MMD -MP -MF $(LIB_TEST_DIR)/obj/test_headers.d -o $@ $< \
		$(LIB_A) $(LIB_LIBS)

# Pipelines use the public functions alone, so they run on a toy card.
LIB_TEST_PIPELINE_OBJS := $(addprefix $(LIB_TEST_DIR)/obj/, test_pipeline.o toy.o lib/pipeline.o)

$(LIB_TEST_DIR)/test_pipeline: $(LIB_TEST_PIPELINE_OBJS)
	$(CC) $(LIB_TEST_SANITIZE) -o $@ $^ -lcmocka

# Linked to the sanitizer's static runtime: a shared one wants to be loaded
# before the library that umockdev preloads.
LIB_TEST_VTACTL := $(LIB_TEST_DIR)/vtactl
LIB_TEST_VTACTL_OBJS := $(VTACTL_OBJS:$(VTACTL_DIR)/%=$(LIB_TEST_DIR)/obj/vtactl/%) $(LIB_TEST_DIR)/obj/cli/cli.o

$(call objects,$(LIB_TEST_DIR)/obj/vtactl,tools/vtactl,\
	$$(LIB_TEST_CFLAGS) $(PROG_CPPFLAGS) $(CLI_CPPFLAGS) -Ilibvtadev/picture)

$(call objects,$(LIB_TEST_DIR)/obj/cli,tools/cli,$$(LIB_TEST_CFLAGS))

$(LIB_TEST_VTACTL): $(LIB_TEST_VTACTL_OBJS) $(PICTURE_OBJS) $(LIB_TEST_LIB_OBJS) $(LIB_TEST_POOL_OBJS) $(OPS_A)
	$(CC) $(LIB_TEST_SANITIZE) -static-libasan -static-libubsan -o $@ $^ $(VTACTL_LIBS)

# Of vtactl, what makes a trace of texts.
$(LIB_TEST_DIR)/obj/test_tracefs.o: LIB_TEST_CFLAGS += -Itools/vtactl $(CLI_CPPFLAGS)
$(LIB_TEST_DIR)/test_tracefs: $(addprefix $(LIB_TEST_DIR)/obj/, \
		test_tracefs.o vtactl/merge.o vtactl/tracefs.o)
	$(CC) $(LIB_TEST_SANITIZE) -o $@ $^ -lcmocka -ljson-c -lm

# Of vtactl, what makes metrics of open files.
$(LIB_TEST_DIR)/obj/test_metrics.o: LIB_TEST_CFLAGS += -Itools/vtactl $(CLI_CPPFLAGS)
$(LIB_TEST_DIR)/test_metrics: $(addprefix $(LIB_TEST_DIR)/obj/, \
		test_metrics.o vtactl/metrics_users.o vtactl/prom.o)
	$(CC) $(LIB_TEST_SANITIZE) -o $@ $^ -lcmocka

$(LIB_TEST_DIR)/mock.sh: tests/lib/mock.sh tests/tap.sh
	@mkdir -p $(@D)
	install -m 644 -t $(@D) $^

$(addprefix $(LIB_TEST_DIR)/, test_cdi test_export test_vtactl): $(LIB_TEST_DIR)/%: tests/lib/%.sh \
		$(LIB_TEST_DIR)/mock.sh $(LIB_TEST_VTACTL)
	@mkdir -p $(@D)
	install -m 755 $< $@

CHECKS += $(foreach t,$(LIB_TESTS),"lib-$(notdir $(t))=$(t)")
