// SPDX-License-Identifier: GPL-2.0-only
/*
 * VTADEV_TRACE: what is written of what was submitted, and that a program is
 * not disturbed by it
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "fake.h"
#include "trace_json.h"

static char dir[64];
static char path[128];

/* A process has one trace: each test that has one is a process of its own. */
static void in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		body();
		exit(0);	/* not _exit(): the library has something to do */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* In the child, where cmocka's asserts are not reported. */
#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1);					\
		}							\
	} while (0)

static int setup(void **state)
{
	strcpy(dir, "/tmp/vta-trace-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/trace.json", dir);
	setenv("VTADEV_TRACE", path, 1);
	unsetenv("VTADEV_TRACE_MAX");
	return fake_setup(state);
}

static int teardown(void **state)
{
	unsetenv("VTADEV_TRACE");
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	return fake_teardown(state);
}

#define TRACE void *unused, setup, teardown

static struct json_object *load(void)
{
	struct json_object *trace = json_object_from_file(path);

	assert_non_null(trace);
	return trace;
}

/* Play the card: stamp and complete the next descriptors. */
static void play(struct vtadev_queue *queue, unsigned int n, uint32_t entries)
{
	static uint64_t now = 1000;
	uint64_t seq = le64toh(fake.status->status.seq);

	(void)queue;
	for (unsigned int i = 0; i < n; i++, seq++) {
		const struct vta_desc *d = &fake.ring[seq & (entries - 1)];
		struct vta_stamp *stamp = (void *)((char *)fake.memory +
						   (le32toh(d->stamp_addr) & 0xfffff));

		CHECK(d->op_flags & htole32(VTA_DESC_STAMP));
		*stamp = (struct vta_stamp) {
			.start = htole64(now),
			.end = htole64(now + 500),
			.cycles = htole64(50),
			.seq = htole64(seq + 1),
		};
		now += 1000;
	}
	fake_complete(seq);
}

static void all_operations_body(void)
{
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 8);
	const struct vta_desc descs[] = {
		vtadev_desc_nop(),
		vtadev_desc_run(0x1000, 12, 0),
		vtadev_desc_copy2d(0x2000, 64, 0x3000, 32, 16, 3),
		vtadev_desc_fill(0x4000, 7, 100),
		vtadev_desc_signal(0x5000, UINT64_MAX),
		vtadev_desc_wait(0x5008, 9),
		vtadev_desc_run(0x1000, 0, 0),
	};

	CHECK(!vtadev_submit(queue, descs, 7, NULL));
	play(queue, 7, 8);
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
}

static void assert_span(struct json_object *trace, uint64_t seq, const char *name,
			const char *cat, const char *arg, uint64_t value)
{
	struct json_object *e = json_descriptor(trace, 0, seq);

	assert_non_null(e);
	assert_string_equal(json_str(e, "name"), name);
	assert_string_equal(json_str(e, "cat"), cat);
	assert_string_equal(json_str(e, "ph"), "X");
	assert_int_equal(json_num(json_args(e), "start_ns") + 500,
			 json_num(json_args(e), "end_ns"));
	assert_true(json_object_get_double(json_get(e, "dur")) == 0.5);
	assert_int_equal(json_num(json_args(e), "cycles"), 50);
	if (arg)
		assert_true(json_num(json_args(e), arg) == value);
}

static uint64_t other(struct json_object *trace, const char *key)
{
	return json_num(json_get(trace, "otherData"), key);
}

TEST_F(TRACE, all_operations)
{
	struct json_object *trace;

	in_child(all_operations_body);
	trace = load();
	assert_span(trace, 1, "NOP", "sync", NULL, 0);
	assert_span(trace, 2, "RUN", "compute", "insns", 12);
	assert_span(trace, 3, "COPY", "copy", "bytes", 48);
	assert_span(trace, 4, "FILL", "copy", "bytes", 100);
	assert_span(trace, 5, "SIGNAL", "sync", "value", UINT64_MAX);
	assert_span(trace, 6, "WAIT", "sync", "addr", 0x5008);
	assert_span(trace, 7, "RUN", "sync", "insns", 0);
	assert_int_equal(other(trace, "descriptors"), 7);
	assert_int_equal(other(trace, "dropped"), 0);
	json_object_put(trace);
}

/* Also when places of the ring are used again and again. */
static void every_descriptor_once_body(void)
{
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 4);
	struct vta_desc descs[3];

	for (unsigned int i = 0; i < 3; i++)
		descs[i] = vtadev_desc_nop();
	for (unsigned int i = 0; i < 1000; i++) {
		CHECK(!vtadev_submit(queue, descs, i % 3 + 1, NULL));
		play(queue, i % 3 + 1, 4);
	}
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
}

TEST_F(TRACE, every_descriptor_once)
{
	struct json_object *trace;
	uint64_t end = 0;

	in_child(every_descriptor_once_body);
	trace = load();
	assert_int_equal(other(trace, "descriptors"), 333 * 6 + 1);
	for (uint64_t seq = 1; seq <= 333 * 6 + 1; seq++) {
		struct json_object *e = json_descriptor(trace, 0, seq);

		assert_non_null(e);
		assert_string_equal(json_str(e, "ph"), "X");
		assert_true(json_num(json_args(e), "start_ns") >= end);
		end = json_num(json_args(e), "end_ns");
	}
	json_object_put(trace);
}

/* The card is asked for the program's stamps where the program wants them. */
static void own_stamps_body(void)
{
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 8);
	struct vta_desc d = vtadev_desc_nop(), bad = vtadev_desc_nop();
	struct vtadev_buf *buf;

	CHECK(!vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &buf));
	vtadev_desc_stamp(&d, vtadev_buf_addr(buf) + 2048);
	CHECK(!vtadev_submit(queue, &d, 1, NULL));
	CHECK(fake.ring[0].stamp_addr == htole32(vtadev_buf_addr(buf) + 2048));
	play(queue, 1, 8);
	/* Seen before the program uses its memory for something else. */
	CHECK(!vtadev_submit(queue, &d, 1, NULL));
	play(queue, 1, 8);
	memset((char *)fake.memory + 2048, 0, 32);
	/* A descriptor that faults without a trace faults with it. */
	bad.stamp_addr = htole32(64);
	CHECK(!vtadev_submit(queue, &bad, 1, NULL));
	CHECK(!memcmp(&fake.ring[2], &bad, sizeof(bad)));
	vtadev_queue_destroy(queue);
	vtadev_buf_free(buf);
	vtadev_close(dev);
}

TEST_F(TRACE, own_stamps)
{
	struct json_object *trace, *e;

	in_child(own_stamps_body);
	trace = load();
	assert_span(trace, 1, "NOP", "sync", NULL, 0);
	/* Overwritten, and not completed: known, without times. */
	for (uint64_t seq = 2; seq <= 3; seq++) {
		e = json_descriptor(trace, 0, seq);
		assert_non_null(e);
		assert_string_equal(json_str(e, "ph"), "i");
		assert_null(json_get(json_args(e), "start_ns"));
		assert_int_equal(json_object_get_boolean(json_get(json_args(e), "completed")),
				 seq == 2);
	}
	json_object_put(trace);
}

static void fault_body(void)
{
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 8);
	struct vta_desc descs[3] = {
		vtadev_desc_nop(), vtadev_desc_op((enum vta_op)99), vtadev_desc_nop()
	};

	CHECK(!vtadev_submit(queue, descs, 3, NULL));
	play(queue, 1, 8);
	fake.fault.reason = VTA_FAULT_DESC;
	fake.fault.seq = 2;
	fake.fault.time = 7777;
	fake_state(VTA_QUEUE_HALTED);
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
}

TEST_F(TRACE, fault)
{
	struct json_object *trace, *events, *e, *found = NULL;

	in_child(fault_body);
	trace = load();
	assert_span(trace, 1, "NOP", "sync", NULL, 0);
	e = json_descriptor(trace, 0, 2);
	assert_non_null(e);
	assert_string_equal(json_str(e, "name"), "unknown");
	assert_non_null(json_descriptor(trace, 0, 3));
	events = json_get(trace, "traceEvents");
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		e = json_object_array_get_idx(events, i);
		if (!strcmp(json_str(e, "name"), "fault"))
			found = e;
	}
	assert_non_null(found);
	assert_int_equal(json_num(json_args(found), "seq"), 2);
	assert_true(json_object_get_double(json_get(found, "ts")) == 7.777);
	json_object_put(trace);
}

/* The third takes the number of one that was forgotten. */
static void recovery_body(void)
{
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 8);
	struct vta_desc nop = vtadev_desc_nop(), fill = vtadev_desc_fill(0, 0, 4);

	CHECK(!vtadev_submit(queue, &nop, 1, NULL));
	CHECK(vtadev_recover(queue) == -EBUSY);
	CHECK(!vtadev_submit(queue, &fill, 1, NULL));
	CHECK(!vtadev_submit(queue, &nop, 1, NULL));
	play(queue, 1, 8);
	for (unsigned int i = 0; i < 2; i++) {
		fake.fault.reason = VTA_FAULT_PAGE;
		fake.fault.seq = 2 + i;
		fake.fault.time = 7000 + i;
		fake_state(VTA_QUEUE_HALTED);
		fake.recover_seq = 2 + i;
		CHECK(!vtadev_recover(queue));
		CHECK(!vtadev_submit(queue, &fill, 1, NULL));
	}
	play(queue, 1, 8);
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
}

TEST_F(TRACE, recovery)
{
	struct json_object *trace, *events;
	unsigned int spans = 0, marks = 0, faults = 0;

	in_child(recovery_body);
	trace = load();
	events = json_get(trace, "traceEvents");
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *e = json_object_array_get_idx(events, i);
		bool descriptor = json_get(json_args(e), "completed");

		faults += !strcmp(json_str(e, "name"), "fault");
		marks += descriptor && !strcmp(json_str(e, "ph"), "i");
		spans += descriptor && !strcmp(json_str(e, "ph"), "X");
	}
	assert_int_equal(faults, 2);
	/* 1; 2 faults and 3 is forgotten; 3 faults; 4. */
	assert_int_equal(spans, 2);
	assert_int_equal(marks, 3);
	assert_span(trace, 1, "NOP", "sync", NULL, 0);
	assert_span(trace, 4, "FILL", "copy", "bytes", 4);
	json_object_put(trace);
}

static void memory_is_bounded_body(void)
{
	setenv("VTADEV_TRACE_MAX", "300", 1);
	every_descriptor_once_body();
}

TEST_F(TRACE, memory_is_bounded)
{
	struct json_object *trace;

	in_child(memory_is_bounded_body);
	trace = load();
	assert_int_equal(other(trace, "descriptors"), 300);
	assert_int_equal(other(trace, "dropped"), 333 * 6 + 1 - 300);
	assert_non_null(json_descriptor(trace, 0, 300));
	json_object_put(trace);
}

/* One queue after the other, and one that is never closed. */
static void queues_body(void)
{
	struct vta_desc nop = vtadev_desc_nop();
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue;

	for (unsigned int i = 0; i < 3; i++) {
		queue = fake_queue(dev, 8);
		CHECK(!vtadev_submit(queue, &nop, 1, NULL));
		play(queue, 1, 8);
		if (i < 2)
			vtadev_queue_destroy(queue);
	}
}

TEST_F(TRACE, queues)
{
	struct json_object *trace;

	in_child(queues_body);
	trace = load();
	for (uint64_t queue = 0; queue < 3; queue++)
		assert_non_null(json_descriptor(trace, queue, 1));
	assert_int_equal(other(trace, "descriptors"), 3);
	json_object_put(trace);
}

static void name_of_a_process_body(void)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/%%p-100%%%%", dir);
	setenv("VTADEV_TRACE", name, 1);
	all_operations_body();
	snprintf(name, sizeof(name), "%s/%d-100%%", dir, (int)getpid());
	CHECK(!unlink(name));
}

TEST_F(TRACE, name_of_a_process)
{
	in_child(name_of_a_process_body);
}

/* A child's trace is separate and complete, even while its parent's queue works. */
static void child_of_a_traced_one_body(void)
{
	struct vta_desc nop = vtadev_desc_nop();
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 8);
	int status;
	pid_t pid;

	CHECK(!vtadev_submit(queue, &nop, 1, NULL));
	pid = fork();
	if (!pid) {
		all_operations_body();
		_exit(0);	/* as children do that have nothing to clean up */
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	_exit(0);
}

TEST_F(TRACE, child_of_a_traced_one)
{
	struct json_object *trace;

	in_child(child_of_a_traced_one_body);
	trace = load();
	assert_int_equal(other(trace, "descriptors"), 7);
	assert_span(trace, 7, "RUN", "sync", "insns", 0);
	json_object_put(trace);
}

/* Writes to a pipe without a reader yet, so the write is under way for a while. */
static void *begin_trace(void *arg)
{
	return fake_queue(arg, 8);
}

static void *read_pipe(void *arg)
{
	char text[4096];
	int fd;

	usleep(200000);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	while (read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
	return arg;
}

/* Memory of threads that are not in the child is no leak of it. */
static int forked_beside_threads;

int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return forked_beside_threads;
}

static void fork_while_tracing_body(void)
{
	struct vtadev *dev = fake_open();
	pthread_t tracer, reader;
	int status;
	pid_t pid;

	CHECK(!mkfifo(path, 0600));
	CHECK(!pthread_create(&tracer, NULL, begin_trace, dev));
	usleep(50000);
	CHECK(!pthread_create(&reader, NULL, read_pipe, NULL));
	pid = fork();
	if (!pid) {
		alarm(60);
		forked_beside_threads = 1;
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	_exit(0);
}

TEST_F(TRACE, fork_while_tracing)
{
	in_child(fork_while_tracing_body);
}

static void untraced_body(void)
{
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 8);
	struct vta_desc nop = vtadev_desc_nop();

	CHECK(!vtadev_submit(queue, &nop, 1, NULL));
	CHECK(!memcmp(fake.ring, &nop, sizeof(nop)));
	CHECK(fake.buffers == 0);
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
}

static void warned_once(void (*body)(void))
{
	char said[1024] = "";
	int pipes[2];
	ssize_t n;

	CHECK(!pipe(pipes) && dup2(pipes[1], 2) == 2);
	body();
	body();
	fflush(stderr);
	n = read(pipes[0], said, sizeof(said) - 1);
	/* One line, that names the file and the cause. */
	CHECK(n > 0 && strchr(said, '\n') == said + n - 1);
	CHECK(strstr(said, getenv("VTADEV_TRACE")) && strstr(said, "the program continues"));
}

static void unwritable_body(void)
{
	warned_once(untraced_body);
}

static void traced_once(void)
{
	struct vtadev *dev = fake_open();
	struct vtadev_queue *queue = fake_queue(dev, 8);

	vtadev_queue_destroy(queue);
	vtadev_close(dev);
}

static void full_body(void)
{
	warned_once(traced_once);
}

/* No room is known at the end alone. A trace of before stays, and no part of the new one does. */
static void no_room_body(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &none));
	full_body();
}

TEST_F(TRACE, no_room_leaves_the_old_file)
{
	char text[8] = "";
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs("old", file);
	assert_int_equal(fclose(file), 0);
	in_child(no_room_body);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "old");
}

TEST_F(TRACE, unwritable)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/no/such", dir);
	setenv("VTADEV_TRACE", name, 1);
	in_child(unwritable_body);
	setenv("VTADEV_TRACE", dir, 1);
	in_child(unwritable_body);
	setenv("VTADEV_TRACE", "/dev/full", 1);
	in_child(full_body);
}

TEST_F(TRACE, off)
{
	unsetenv("VTADEV_TRACE");
	in_child(untraced_body);
	setenv("VTADEV_TRACE", "", 1);
	in_child(untraced_body);
}
