// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_trace - tracepoints: each fires once for its event, with the event's data (kmod/vta_trace.c);
 * and the driver in a trace of the kernel's functions
 */
#include <sys/eventfd.h>

#include "vta_gates.h"
#include "vta_harness.h"

#define TRACING	"/sys/kernel/tracing/"

/* Empties a file of tracing, which opening it does, and truncate() does not. */
static int empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd < 0 ? -errno : close(fd);
}

/* Lines of the trace that have both texts; the first goes to @line. */
static unsigned int lines(const char *event, const char *text, char *line, size_t size)
{
	FILE *file = fopen(TRACING "trace", "re");
	unsigned int count = 0;
	char buf[512], name[64];

	if (!file)
		return 0;
	snprintf(name, sizeof(name), "%s:", event);
	while (fgets(buf, sizeof(buf), file)) {
		if (!strstr(buf, name) || !strstr(buf, text))
			continue;
		if (!count++ && line)
			snprintf(line, size, "%s", buf);
	}
	fclose(file);
	return count;
}

FIXTURE(trace) {
	int fd;
};

FIXTURE_SETUP(trace)
{
	ASSERT_EQ(0, file_write(TRACING "events/vta/enable", "1")) {
		TH_LOG("the module has no tracepoints, or the kernel no tracing");
	}
	ASSERT_EQ(0, empty(TRACING "trace"));
	ASSERT_EQ(0, file_write(TRACING "tracing_on", "1"));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(trace)
{
	if (self->fd >= 0)
		close(self->fd);
	file_write(TRACING "events/vta/enable", "0");
}

TEST_F(trace, context_is_traced)
{
	char text[32];

	snprintf(text, sizeof(text), "tgid=%d", getpid());
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(1, lines("vta_ctx_open", text, NULL, 0));
	EXPECT_EQ(1, lines("vta_ctx_close", text, NULL, 0));
}

TEST_F(trace, buffer_is_traced)
{
	struct mem mem;

	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 12288, VTA_BUF_CARD, 0x12340000));
	EXPECT_EQ(1, lines("vta_buf_alloc", "addr=0x12340000 size=12288", NULL, 0));
	EXPECT_EQ(0, lines("vta_buf_free", "addr=0x12340000", NULL, 0));
	ASSERT_EQ(0, mem_free(&mem));
	EXPECT_EQ(1, lines("vta_buf_free", "addr=0x12340000 size=12288", NULL, 0));
}

TEST_F(trace, queue_and_wait_are_traced)
{
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(1, lines("vta_queue_create", "queue=", NULL, 0));
	EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(1, lines("vta_wait_begin", "seq=1", NULL, 0));
	EXPECT_EQ(1, lines("vta_wait_end", "seq=1 done=1 ret=0", NULL, 0));
	EXPECT_EQ(0, lines("vta_queue_destroy", "queue=", NULL, 0));
	EXPECT_EQ(0, queue_close(&q));
	EXPECT_EQ(1, lines("vta_queue_destroy", "queue=", NULL, 0));
}

TEST_F(trace, fault_is_traced)
{
	char line[512], text[64];
	struct queue q;

	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill(0x40000000, 0, 4)));
	snprintf(text, sizeof(text), "reason=%u access=%u addr=0x40000000 seq=1",
		 VTA_FAULT_PAGE, VTA_ACCESS_COPY_DST);
	EXPECT_EQ(1, lines("vta_queue_fault", text, line, sizeof(line)));
	snprintf(text, sizeof(text), "ret=%d", -EIO);
	EXPECT_EQ(1, lines("vta_wait_end", text, NULL, 0));
}

/* Tools that decode binary records have the format alone: no name of an enum is in it. */
TEST_F(trace, formats_have_numbers_for_enums)
{
	FILE *file = fopen(TRACING "events/vta/vta_recovery/format", "re");
	unsigned int printed = 0;
	char line[1024];

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "print fmt:", 10))
			continue;
		printed++;
		EXPECT_NE(NULL, strstr(line, "\"queue_abort\""));
		EXPECT_EQ(NULL, strstr(line, "VTA_STEP_"));
	}
	fclose(file);
	EXPECT_EQ(1, printed);
}

/* ---- Functions of the kernel ---- */

/* The kernel accepts any name; if it names no function, the file has a comment. */
static bool filter_has_functions(void)
{
	FILE *file = fopen(TRACING "set_ftrace_filter", "re");
	char line[128];
	bool has = file && fgets(line, sizeof(line), file) && line[0] != '#';

	if (file)
		fclose(file);
	return has;
}

/* Traces the calls of this function, or of those that the pattern names; 0 if it can. */
static int trace_function(const char *pattern)
{
	file_write(TRACING "set_ftrace_filter", pattern);
	if (!filter_has_functions() || file_write(TRACING "current_tracer", "function"))
		return -ENOENT;
	return empty(TRACING "trace");
}

static void trace_no_function(void)
{
	file_write(TRACING "current_tracer", "nop");
	empty(TRACING "set_ftrace_filter");
}

/*
 * Calls of a function in the trace; @atomic: those with interrupts off or in an interrupt, by
 * the flags behind the processor's number.
 */
static unsigned int calls(const char *function, bool atomic)
{
	unsigned int count = 0;
	char line[512];
	FILE *file;

	file_write(TRACING "tracing_on", "0");
	file = fopen(TRACING "trace", "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, function), *flags = strstr(line, "] ");

		if (!at || !flags || line[0] == '#')
			continue;
		count += !atomic || flags[2] == 'd' || flags[2] == 'D' || flags[4] != '.';
	}
	if (file)
		fclose(file);
	file_write(TRACING "tracing_on", "1");
	return count;
}

/* No lock or interrupt waits for the listeners of an eventfd. */
TEST_F(trace, eventfd_is_signalled_with_interrupts_on)
{
	int event = eventfd(0, 0);
	struct queue q;

	if (trace_function("eventfd_signal*"))
		SKIP(return, "this kernel does not trace functions");
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	ASSERT_EQ(0, queue_event(&q, event));
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill(0x40000000, 0, 4)));
	EXPECT_LT(0, event_next(event));
	EXPECT_LT(0, calls("eventfd_signal", false));
	EXPECT_EQ(0, calls("eventfd_signal", true));
	trace_no_function();
	queue_unmap(&q);
	close(event);
}

enum { MAPPINGS = 300, OTHERS = 8, FEW = 50 };

/* File by file, each through its own mappings. */
TEST_F(trace, reset_revokes_each_mapping_once)
{
	const char *zap = "zap_page_range_single";
	struct mem mem, other;
	int fds[OTHERS];

	if (trace_function(zap))
		zap = "zap_vma_range_batched";	/* its name since Linux 7 */
	if (trace_function(zap))
		SKIP(return, "this kernel does not trace the function that revokes a mapping");
	ASSERT_EQ(0, mem_alloc(self->fd, &mem, 4096, VTA_BUF_HOST, 0));
	for (unsigned int i = 0; i < MAPPINGS; i++)
		ASSERT_NE(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd,
					   (off_t)mem.offset));
	for (unsigned int i = 0; i < OTHERS; i++) {
		fds[i] = card_open();
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(0, mem_alloc(fds[i], &other, 4096, VTA_BUF_HOST, 0));
	}
	ASSERT_EQ(0, empty(TRACING "trace"));
	EXPECT_EQ(0, card_reset());
	EXPECT_LE(MAPPINGS, calls(zap, false));
	EXPECT_GT(MAPPINGS + FEW, calls(zap, false));
	trace_no_function();
	for (unsigned int i = 0; i < OTHERS; i++)
		close(fds[i]);
}

TEST_HARNESS_MAIN
