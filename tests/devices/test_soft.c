// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_soft.c - a card in the process, on the device "soft", by vtadev.h alone
 *
 * test_same.c compares its results with the emulated card's.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../frame.h"
#include "rig.h"
#include "vta_isa.h"

#define INSN_WORDS	4
#define FINISH		3u

TEST_F(RIG, fills_copies_and_reads_back)
{
	struct vtadev_buf *card = buffer(3 * PAGE, VTADEV_CARD);
	struct vtadev_buf *host = buffer(3 * PAGE, VTADEV_HOST);
	uint8_t bytes[3 * PAGE];

	assert_int_equal(vtadev_fill(q, card, 1, 0x04030201, 3 * PAGE - 2, NULL), 0);
	assert_int_equal(vtadev_copy(q, host, 0, card, 0, 3 * PAGE, NULL), 0);
	assert_int_equal(vtadev_download(q, host, 0, bytes, sizeof(bytes)), 0);
	assert_int_equal(bytes[0], 0);
	for (size_t i = 1; i < sizeof(bytes) - 1; i++)
		assert_int_equal(bytes[i], 1 + (i - 1) % 4);
	assert_int_equal(bytes[sizeof(bytes) - 1], 0);
	vtadev_buf_free(host);
	vtadev_buf_free(card);
}

/* Messages of a program without standard streams must not be written to a card's memory. */
TEST_F(RIG, closed_standard_streams_stay_free)
{
	int kept[3], open[3];
	struct vtadev *other = NULL;
	struct vtadev_buf *buf = NULL;
	int err;

	for (int fd = 0; fd < 3; fd++) {
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		close(fd);
	}
	err = vtadev_open(rig_device, &other);
	if (!err)
		err = vtadev_buf_alloc(other, PAGE, VTADEV_HOST, &buf);
	for (int fd = 0; fd < 3; fd++)
		open[fd] = fcntl(fd, F_GETFD);
	vtadev_buf_free(buf);
	vtadev_close(other);
	for (int fd = 0; fd < 3; fd++) {
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
	assert_int_equal(err, 0);
	for (int fd = 0; fd < 3; fd++)
		assert_int_equal(open[fd], -1);
}

TEST_F(RIG, rows_have_their_pitch)
{
	struct vtadev_buf *buf = buffer(PAGE, VTADEV_HOST);
	const struct vtadev_rows from = { buf, 0, 0 }, to = { buf, 1000, 10 };
	uint8_t bytes[40];

	assert_int_equal(vtadev_buf_write(buf, 0, "abc", 3), 0);
	assert_int_equal(vtadev_copy2d(q, &to, &from, 3, 4, NULL), 0);
	assert_int_equal(vtadev_download(q, buf, 1000, bytes, sizeof(bytes)), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_memory_equal(bytes + 10 * i, "abc\0\0\0\0\0\0\0", 10);
	vtadev_buf_free(buf);
}

TEST_F(RIG, a_stream_runs_and_is_stamped)
{
	struct vtadev_buf *code = buffer(PAGE, VTADEV_HOST);
	const uint32_t insn[INSN_WORDS] = { FINISH };
	struct vta_desc desc;
	struct vta_stamp stamp;
	uint64_t seq;

	assert_int_equal(vtadev_buf_write(code, 0, insn, sizeof(insn)), 0);
	desc = vtadev_desc_run(vtadev_buf_addr(code), 1, 0);
	vtadev_desc_stamp(&desc, vtadev_buf_addr(code) + 64);
	seq = submit(q, desc);
	assert_int_equal(vtadev_wait(q, seq, FOREVER), 0);
	assert_int_equal(vtadev_buf_read(code, 64, &stamp, sizeof(stamp)), 0);
	assert_int_equal(stamp.seq, seq);
	assert_true(stamp.cycles > 0);
	assert_true(stamp.start <= stamp.end);
	vtadev_buf_free(code);
}

TEST_F(RIG, faults_have_their_record)
{
	struct vtadev_buf *buf = buffer(PAGE, VTADEV_HOST);
	struct vtadev_buf *ro = buffer(PAGE, VTADEV_HOST | VTADEV_READONLY);
	const uint32_t at = vtadev_buf_addr(buf), nowhere = 0x80000000;
	const uint32_t illegal[INSN_WORDS] = { 7 };
	struct vta_desc bad = vtadev_desc_nop();
	struct vtadev_fault f;

	f = fails(vtadev_desc_copy(at, nowhere, 16));
	assert_int_equal(f.reason, VTA_FAULT_PAGE);
	assert_int_equal(f.access, VTA_ACCESS_COPY_SRC);
	assert_int_equal(f.addr, nowhere);
	assert_int_equal(f.insn_index, VTA_FAULT_NO_INSN);
	/* Nothing more is taken, and another queue does not notice. */
	assert_int_equal(vtadev_submit(q, &bad, 1, NULL), -EIO);
	assert_int_equal(vtadev_recover(q), 0);
	assert_int_equal(vtadev_recover(q), -EBUSY);

	f = fails(vtadev_desc_fill(vtadev_buf_addr(ro), 1, 16));
	assert_int_equal(f.reason, VTA_FAULT_PERM);
	assert_int_equal(f.access, VTA_ACCESS_COPY_DST);
	assert_int_equal(vtadev_recover(q), 0);

	bad.op_flags = 0x77;
	assert_int_equal(fails(bad).reason, VTA_FAULT_DESC);
	assert_int_equal(vtadev_recover(q), 0);

	f = fails(vtadev_desc_wait(at + 4, 1));
	assert_int_equal(f.reason, VTA_FAULT_ALIGN);
	assert_int_equal(f.access, VTA_ACCESS_WAIT);
	assert_int_equal(vtadev_recover(q), 0);

	assert_int_equal(vtadev_buf_write(buf, 0, illegal, sizeof(illegal)), 0);
	f = fails(vtadev_desc_run(at, 1, 0));
	assert_int_equal(f.reason, VTA_FAULT_INSN);
	assert_int_equal(f.insn_index, 0);
	assert_int_equal(f.insn[0], 7);
	assert_int_equal(vtadev_recover(q), 0);

	/* Without its flag a queue keeps nothing. */
	bad = vtadev_desc_run(at, 1, 0);
	vtadev_desc_keep(&bad);
	f = fails(bad);
	assert_int_equal(f.reason, VTA_FAULT_DESC);
	assert_int_equal(vtadev_recover(q), 0);
	works(vtadev_desc_nop());
	vtadev_buf_free(ro);
	vtadev_buf_free(buf);
}

TEST_F(RIG, freed_memory_is_out_of_sight)
{
	struct vtadev_buf *buf = buffer(PAGE, VTADEV_HOST);
	uint32_t addr = vtadev_buf_addr(buf);

	works(vtadev_desc_fill(addr, 1, PAGE));
	vtadev_buf_free(buf);
	assert_int_equal(fails(vtadev_desc_fill(addr, 1, PAGE)).reason, VTA_FAULT_PAGE);
}

/* By the CPU, while the card may read the word. */
static void store(struct vtadev_buf *words, uint64_t value)
{
	void *word;

	assert_int_equal(vtadev_buf_map(words, &word), 0);
	__atomic_store_n((uint64_t *)word, value, __ATOMIC_RELEASE);
}

TEST_F(RIG, a_queue_waits_for_another)
{
	struct vtadev_buf *words = buffer(PAGE, VTADEV_HOST);
	struct vtadev_queue *other = queue(0);
	const uint32_t at = vtadev_buf_addr(words);
	uint64_t last;

	submit(q, vtadev_desc_wait(at, 5));
	last = submit(q, vtadev_desc_signal(at + 8, 1));
	assert_int_equal(vtadev_done(q, last), 0);
	submit(other, vtadev_desc_signal(at, 4));
	assert_int_equal(vtadev_wait(q, last, 1000000), -ETIMEDOUT);
	submit(other, vtadev_desc_signal(at, 5));
	assert_int_equal(vtadev_wait(q, last, FOREVER), 0);

	/* By the CPU, with a kick. */
	last = submit(q, vtadev_desc_wait(at, 9));
	store(words, 9);
	vtadev_kick(q);
	assert_int_equal(vtadev_wait(q, last, FOREVER), 0);
	vtadev_queue_destroy(other);
	vtadev_buf_free(words);
}

/* A wait that nothing can cancel sleeps although no more files can be open. */
TEST_F(RIG, a_wait_opens_no_file)
{
	struct vtadev_buf *words = buffer(PAGE, VTADEV_HOST);
	uint32_t at = vtadev_buf_addr(words);
	struct rlimit files, none;
	struct vtadev_queue *other;
	uint64_t seq;
	int err[2];

	assert_int_equal(vtadev_queue_create(dev, NULL, &other), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	seq = submit(q, vtadev_desc_wait(at, 1));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err[0] = vtadev_wait(q, seq, 1000000);
	submit(other, vtadev_desc_signal(at, 1));
	err[1] = vtadev_wait(q, seq, FOREVER);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(err[0], -ETIMEDOUT);
	assert_int_equal(err[1], 0);
	vtadev_queue_destroy(other);
	vtadev_buf_free(words);
}

TEST_F(RIG, an_unending_wait_ends_with_its_queue)
{
	struct vtadev_buf *words = buffer(PAGE, VTADEV_HOST);
	struct vtadev_queue *other = queue(0);

	submit(other, vtadev_desc_wait(vtadev_buf_addr(words), 1));
	vtadev_queue_destroy(other);
	vtadev_buf_free(words);
	works(vtadev_desc_nop());
}

TEST_F(RIG, any_and_all)
{
	struct vtadev_buf *words = buffer(PAGE, VTADEV_HOST);
	struct vtadev_queue *other = queue(0);
	const uint32_t at = vtadev_buf_addr(words);
	struct vtadev_fence fences[2];
	unsigned int index = 9;
	int cancel = eventfd(0, EFD_CLOEXEC);

	assert_true(cancel >= 0);
	fences[0].queue = q;
	fences[1].queue = other;
	fences[0].seq = submit(q, vtadev_desc_wait(at, 1));
	fences[1].seq = submit(other, vtadev_desc_nop());
	assert_int_equal(vtadev_wait_any(fences, 2, FOREVER, -1, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(vtadev_wait_all(fences, 2, 1000000, -1, NULL), -ETIMEDOUT);
	assert_int_equal(eventfd_write(cancel, 1), 0);
	assert_int_equal(vtadev_wait_all(fences, 2, FOREVER, cancel, NULL), -ECANCELED);
	submit(other, vtadev_desc_signal(at, 1));
	assert_int_equal(vtadev_wait_all(fences, 2, FOREVER, -1, NULL), 0);

	/* A halt ends it, and names the queue. */
	fences[0].seq = submit(q, vtadev_desc_wait(at, 2));
	fences[1].seq = submit(other, vtadev_desc_fill(0, 1, 4));
	assert_int_equal(vtadev_wait_all(fences, 2, FOREVER, -1, &index), -EIO);
	assert_int_equal(index, 1);
	close(cancel);
	vtadev_queue_destroy(other);
	vtadev_buf_free(words);
}

static short polled(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLPRI };

	assert_true(poll(&p, 1, timeout) >= 0);
	return p.revents;
}

TEST_F(RIG, poll_reports)
{
	struct vtadev_buf *words = buffer(PAGE, VTADEV_HOST);
	struct vtadev_queue *other = queue(0);
	const uint32_t at = vtadev_buf_addr(words);
	uint64_t seq = submit(q, vtadev_desc_wait(at, 1));

	assert_int_equal(vtadev_arm(q, seq), 0);
	assert_int_equal(polled(vtadev_fd(dev), 0), 0);
	submit(other, vtadev_desc_signal(at, 1));
	assert_int_equal(polled(vtadev_fd(dev), -1), POLLIN);
	assert_int_equal(vtadev_wait(q, seq, FOREVER), 0);
	assert_int_equal(polled(vtadev_fd(dev), 0), 0);
	assert_int_equal(vtadev_arm(q, seq), 1);

	submit(q, vtadev_desc_fill(0, 1, 4));
	assert_true(polled(vtadev_fd(dev), -1) != 0);
	assert_int_equal(vtadev_sync(q, FOREVER), -EIO);
	assert_int_equal(vtadev_recover(q), 0);
	assert_int_equal(polled(vtadev_fd(dev), 0), 0);
	vtadev_queue_destroy(other);
	vtadev_buf_free(words);
}

TEST_F(RIG, an_eventfd_reports)
{
	struct vtadev_buf *words = buffer(PAGE, VTADEV_HOST);
	const uint32_t at = vtadev_buf_addr(words);
	int event = eventfd(0, EFD_CLOEXEC), file = open("/dev/null", O_RDONLY);
	eventfd_t count = 0;
	uint64_t seq;

	assert_int_equal(vtadev_queue_eventfd(q, file), -EINVAL);
	assert_int_equal(vtadev_queue_eventfd(q, event), 0);
	seq = submit(q, vtadev_desc_wait(at, 1));
	assert_int_equal(vtadev_arm(q, seq), 0);
	store(words, 1);
	vtadev_kick(q);
	assert_int_equal(eventfd_read(event, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(polled(vtadev_fd(dev), 0), 0);
	submit(q, vtadev_desc_fill(0, 1, 4));
	assert_int_equal(eventfd_read(event, &count), 0);
	close(file);
	close(event);
	vtadev_buf_free(words);
}

TEST_F(RIG, places_and_their_errors)
{
	struct vtadev_buf *a, *b;
	uint64_t before, after;

	assert_int_equal(vtadev_mem_free(dev, &before), 0);
	assert_int_equal(vtadev_buf_alloc_at(dev, 100, VTADEV_CARD, 1 << 20, 0x30000000, &a), 0);
	assert_int_equal(vtadev_buf_addr(a), 0x30000000);
	assert_int_equal(vtadev_mem_free(dev, &after), 0);
	assert_int_equal(before - after, PAGE);
	assert_int_equal(vtadev_buf_alloc_at(dev, 100, 0, 0, 0x30000000, &b), -EEXIST);
	assert_int_equal(vtadev_buf_alloc_at(dev, 100, 0, 0, 0x30000010, &b), -EINVAL);
	assert_int_equal(vtadev_buf_alloc_at(dev, 100, 0, 3, 0, &b), -EINVAL);
	assert_int_equal(vtadev_buf_alloc(dev, 0, 0, &b), -EINVAL);
	assert_int_equal(vtadev_buf_alloc(dev, (size_t)before, VTADEV_CARD, &b), -ENOSPC);
	assert_int_equal(vtadev_buf_alloc_at(dev, PAGE, 0, 0, 0xfffff000, &b), 0);
	works(vtadev_desc_fill(0xffffffff, 1, 1));
	assert_int_equal(fails(vtadev_desc_fill(0xffffffff, 1, 2)).addr, 0);
	vtadev_buf_free(a);
	vtadev_buf_free(b);
}

TEST_F(RIG, pinned_memory_is_the_programs)
{
	uint8_t *mem = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct vtadev_buf *pin;

	assert_true(mem != MAP_FAILED);
	assert_int_equal(mprotect(mem + 2 * PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(vtadev_buf_pin(dev, mem + 100, PAGE, 0, &pin), 0);
	works(vtadev_desc_fill(vtadev_buf_addr(pin), 0x07070707, PAGE));
	assert_int_equal(mem[99], 0);
	assert_int_equal(mem[100], 7);
	assert_int_equal(mem[PAGE + 99], 7);
	vtadev_buf_free(pin);
	assert_int_equal(vtadev_buf_pin(dev, mem, 3 * PAGE, 0, &pin), -EACCES);
	/* Not earlier: what allocates memory meanwhile would get this page. */
	assert_int_equal(munmap(mem + 3 * PAGE, PAGE), 0);
	assert_int_equal(vtadev_buf_pin(dev, mem, 4 * PAGE, VTADEV_READONLY, &pin), -EFAULT);
	assert_int_equal(vtadev_buf_pin(dev, mem, 3 * PAGE, VTADEV_READONLY, &pin), 0);
	assert_int_equal(fails(vtadev_desc_fill(vtadev_buf_addr(pin), 1, 4)).reason,
			 VTA_FAULT_PERM);
	vtadev_buf_free(pin);
	munmap(mem, 3 * PAGE);
}

TEST_F(RIG, memory_is_shared_between_contexts)
{
	struct vtadev_buf *made = buffer(2 * PAGE, VTADEV_HOST), *there;
	struct vtadev *other;
	uint32_t word = 0;
	int fd, ro;

	assert_int_equal(vtadev_open("soft", &other), 0);
	assert_int_equal(vtadev_buf_export(made, 0, &fd), 0);
	assert_int_equal(vtadev_buf_export(made, VTADEV_READONLY, &ro), 0);
	assert_int_equal(vtadev_buf_import(other, ro, 0, &there), -EACCES);
	assert_int_equal(vtadev_buf_import_at(other, fd, 0, 0, 0x50000000, &there), 0);
	assert_int_equal(vtadev_buf_size(there), 2 * PAGE);
	works(vtadev_desc_fill(vtadev_buf_addr(made), 0xabcd, PAGE));
	assert_int_equal(vtadev_buf_read(there, 0, &word, sizeof(word)), 0);
	assert_int_equal(word, 0xabcd);
	/* The addresses of one are nothing to the other. */
	assert_int_equal(fails(vtadev_desc_fill(0x50000000, 1, 4)).reason, VTA_FAULT_PAGE);
	vtadev_buf_free(made);
	assert_int_equal(vtadev_buf_read(there, 0, &word, sizeof(word)), 0);
	assert_int_equal(word, 0xabcd);
	vtadev_buf_free(there);
	vtadev_close(other);
	close(ro);
	close(fd);
}

#define EACH	400u

struct submitter {
	struct vtadev_queue *queue;
	struct vtadev_buf *buf;
};

static void *submit_many(void *arg)
{
	const struct submitter *s = arg;
	uint32_t word;

	for (unsigned int i = 0; i < EACH; i++) {
		struct vta_desc desc = vtadev_desc_fill(vtadev_buf_addr(s->buf), i, PAGE);
		uint64_t seq;

		if (vtadev_submit_wait(s->queue, &desc, 1, FOREVER, &seq) ||
		    (i % 8 == 7 && (vtadev_wait(s->queue, seq, FOREVER) ||
				    vtadev_buf_read(s->buf, 0, &word, 4) || word != i)))
			return arg;
	}
	return vtadev_sync(s->queue, FOREVER) ? arg : NULL;
}

TEST_F(RIG, threads_with_queues_of_their_own)
{
	struct submitter s[4];
	pthread_t threads[4];
	void *wrong;

	for (unsigned int i = 0; i < 4; i++) {
		s[i] = (struct submitter){ queue(0), buffer(PAGE, i % 2 ? VTADEV_CARD : 0) };
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &s[i]), 0);
	}
	/* Memory comes and goes meanwhile. */
	for (unsigned int i = 0; i < 100; i++)
		vtadev_buf_free(buffer(3 * PAGE, 0));
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
		assert_int_equal(vtadev_submitted(s[i].queue), EACH);
		vtadev_queue_destroy(s[i].queue);
		vtadev_buf_free(s[i].buf);
	}
}

TEST_F(RIG, counters_count)
{
	struct vtadev_buf *buf = buffer(PAGE, VTADEV_HOST);
	struct vtadev_counters before, after;
	uint64_t one;

	assert_int_equal(vtadev_counters(dev, &before), 0);
	works(vtadev_desc_fill(vtadev_buf_addr(buf), 1, 1000));
	assert_int_equal(vtadev_counters(dev, &after), 0);
	assert_int_equal(after.fills - before.fills, 1);
	assert_int_equal(after.copy_bytes - before.copy_bytes, 1000);
	assert_int_equal(after.doorbells - before.doorbells, 1);
	assert_int_equal(after.copy_cycles - before.copy_cycles, 16 + 1 + 63);
	assert_int_equal(vtadev_counter(dev, "copy_cycles", &one), 0);
	assert_int_equal(one, after.copy_cycles);
	assert_int_equal(vtadev_counter(dev, "copy_clocks", &one), 0);
	assert_true(one > 0);
	assert_int_equal(vtadev_counter(dev, "compute_clocks", &one), 0);
	assert_int_equal(one, 0);
	assert_int_equal(vtadev_counter(dev, "counters", &one), -ENOENT);
	vtadev_buf_free(buf);
}

TEST_F(RIG, a_child_closes_without_harm)
{
	int status = -1;
	pid_t child;

	works(vtadev_desc_nop());
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		vtadev_close(dev);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	works(vtadev_desc_nop());
}

/* ---- What does not end, and what is lost ---- */

static atomic_llong later;	/* ns that the clocks are ahead */
static atomic_uint begun;	/* runs and copies: each reads its thread's clock once */

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int ret = __real_clock_gettime(clock, ts);

	ts->tv_sec += (time_t)(atomic_load(&later) / 1000000000);
	if (clock != CLOCK_MONOTONIC)
		atomic_fetch_add(&begun, 1);
	return ret;
}

/* Returns when the run is under way, and its limit counts. */
static uint64_t begin(struct vtadev_queue *to, struct vta_desc desc)
{
	unsigned int before = atomic_load(&begun);
	uint64_t seq = submit(to, desc);

	while (atomic_load(&begun) == before)
		sched_yield();
	return seq;
}

/* Additions of 1 to the first element of ACC, as many as the square of @side. */
static void pack_additions(uint32_t side, uint64_t add[2])
{
	const struct vta_isa_config config = VTA_ISA_CONFIG_OF(vtadev_info(dev));
	const struct vta_isa_shape shape = vta_isa_shape(&config);
	const struct vta_isa_insn insn = vta_isa_pack_loop(&shape, 0, &(struct vta_isa_loop) {
		.alu = 1, .uop_end = 1, .iter_out = side, .iter_in = side,
		.alu_opcode = VTA_ISA_ADD, .use_imm = 1, .imm = 1,
	});

	add[0] = htole64(insn.word[0]);
	add[1] = htole64(insn.word[1]);
}

/* Hours of them. */
static struct vtadev_buf *endless(void)
{
	uint64_t add[2];
	struct vtadev_buf *code = buffer(64 * PAGE, VTADEV_HOST);
	void *map;

	pack_additions(16383, add);
	assert_int_equal(vtadev_buf_map(code, &map), 0);
	for (size_t i = 0; i < 64 * PAGE / sizeof(add); i++)
		memcpy((char *)map + i * sizeof(add), add, sizeof(add));
	return code;
}

static struct vta_desc endless_run(struct vtadev_buf *code)
{
	return vtadev_desc_run(vtadev_buf_addr(code), 64 * PAGE / 16, 0);
}

TEST_F(RIG, runs_without_end_are_ended)
{
	struct vtadev_fault fault;
	struct vtadev_buf *code;
	uint64_t seq;

	code = endless();
	seq = begin(q, endless_run(code));
	assert_int_equal(vtadev_wait(q, seq, 20000000), -ETIMEDOUT);
	/* Other queues continue. */
	vtadev_queue_destroy(queue(0));
	atomic_store(&later, 3600 * 1000000000ll);
	assert_int_equal(vtadev_wait(q, seq, FOREVER), -EIO);
	atomic_store(&later, 0);
	assert_int_equal(vtadev_fault(q, &fault), 0);
	assert_int_equal(fault.reason, VTA_FAULT_TIME);
	assert_int_equal(fault.insn_index, VTA_FAULT_NO_INSN);
	assert_int_equal(vtadev_recover(q), 0);
	works(vtadev_desc_nop());
	vtadev_buf_free(code);
}

static int two_cores_setup(void **state)
{
	rig_device = "soft:cores=2";
	return rig_setup(state);
}

static int two_cores_teardown(void **state)
{
	rig_device = "soft";
	return rig_teardown(state);
}

#define TWO_CORES void *unused, two_cores_setup, two_cores_teardown

/* Both cores are busy; a third queue waits for one of them. */
TEST_F(TWO_CORES, runs_are_side_by_side)
{
	struct vtadev_queue *second = queue(0), *third = queue(0);
	struct vtadev_buf *code = endless();
	uint64_t seq, waits;

	assert_int_equal(vtadev_info(dev)->cores, 2);
	begin(q, endless_run(code));
	begin(second, endless_run(code));
	waits = submit(third, endless_run(code));
	assert_int_equal(vtadev_wait(third, waits, 20000000), -ETIMEDOUT);
	vtadev_queue_destroy(second);
	seq = begin(third, endless_run(code));
	assert_int_equal(seq, waits + 1);
	vtadev_queue_destroy(third);
	vtadev_buf_free(code);
}

TEST_F(TWO_CORES, a_run_does_not_wait_for_another_queues)
{
	struct vtadev_queue *other = queue(0);
	struct vtadev_buf *code = endless(), *end = buffer(PAGE, VTADEV_HOST);
	const uint32_t finish[4] = { htole32(VTA_ISA_FINISH) };
	uint64_t seq;

	assert_int_equal(vtadev_buf_write(end, 0, finish, sizeof(finish)), 0);
	seq = begin(q, endless_run(code));
	for (int i = 0; i < 10; i++) {
		uint64_t last = submit(other, vtadev_desc_run(vtadev_buf_addr(end), 1, 0));

		assert_int_equal(vtadev_wait(other, last, FOREVER), 0);
	}
	assert_int_equal(vtadev_wait(q, seq, 0), -ETIMEDOUT);
	vtadev_queue_destroy(other);
	vtadev_buf_free(code);
	vtadev_buf_free(end);
}

TEST(numbers_of_cores)
{
	static const char *const bad[] = {
		"soft:cores=", "soft:cores=0", "soft:cores=257", "soft:cores=-1", "soft:cores=2x",
		"soft:cores= 2", "soft:cores=99999999999999999999",
	};
	char why[256];
	struct vtadev *card;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(vtadev_open(bad[i], &card), -EINVAL);
		vtadev_open_text(bad[i], why, sizeof(why));
		assert_non_null(strstr(why, "1 to 256 cores"));
	}
	assert_int_equal(vtadev_open("soft:cores=3:", &card), 0);
	assert_int_equal(vtadev_info(card)->cores, 3);
	vtadev_close(card);
}

/* A file like TVM's with @cores; @path is a template for mkstemp(). */
static void write_config(char *path, const char *cores)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	dprintf(fd, "{ \"HW_VER\": \"0.0.1\", \"LOG_INP_WIDTH\": 3, \"LOG_WGT_WIDTH\": 3, "
		"\"LOG_ACC_WIDTH\": 5, \"LOG_BATCH\": 0, \"LOG_BLOCK\": 4, "
		"\"LOG_UOP_BUFF_SIZE\": 15, \"LOG_INP_BUFF_SIZE\": 15, "
		"\"LOG_WGT_BUFF_SIZE\": 18, \"LOG_ACC_BUFF_SIZE\": 17, \"CORES\": %s }\n", cores);
	close(fd);
}

/* Opens soft by a file with @cores, and @args before the file's name. */
static int open_by_file(const char *args, const char *cores, struct vtadev **card, char *why,
			size_t why_size)
{
	char path[] = "/tmp/vta-cores.XXXXXX", name[64];
	int err;

	write_config(path, cores);
	snprintf(name, sizeof(name), "soft:%s%s", args, path);
	err = vtadev_open(name, card);
	vtadev_open_text(name, why, why_size);
	unlink(path);
	return err;
}

TEST(a_file_says_how_many_cores)
{
	struct vtadev *card;
	char why[256];

	assert_int_equal(open_by_file("", "5", &card, why, sizeof(why)), 0);
	assert_int_equal(vtadev_info(card)->cores, 5);
	vtadev_close(card);
	assert_int_equal(open_by_file("cores=3:", "5", &card, why, sizeof(why)), 0);
	assert_int_equal(vtadev_info(card)->cores, 3);
	vtadev_close(card);
	assert_int_equal(open_by_file("", "257", &card, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "CORES is 257, but must be 1 to 256"));
}

TEST_F(RIG, a_busy_queue_is_destroyed)
{
	struct vtadev_queue *other;
	struct vtadev_buf *code;
	struct vta_desc desc;

	other = queue(VTADEV_QUEUE_KEEP);
	code = endless();
	desc = endless_run(code);
	vtadev_desc_keep(&desc);
	begin(other, desc);
	submit(other, desc);
	vtadev_queue_destroy(other);
	works(vtadev_desc_nop());
	vtadev_buf_free(code);
}

/* The first element of ACC, after a RUN with KEEP of one STORE. */
static void read_kept(struct vtadev_queue *from, uint8_t element[16])
{
	struct vtadev_buf *code = buffer(PAGE, VTADEV_HOST);
	const uint32_t to = vtadev_buf_addr(code) + PAGE / 2;
	const struct vta_isa_insn insn[] = {
		vta_isa_pack_move(VTA_ISA_STORE, &(struct vta_isa_move) {
			.memory_type = VTA_ISA_OUT, .dram_base = to / 16, .y_size = 1, .x_size = 1,
			.x_stride = 1,
		}),
		vta_isa_pack_finish(0),
	};
	struct vta_desc desc = vtadev_desc_run(vtadev_buf_addr(code), 2, 0);
	uint64_t words[4];

	for (int i = 0; i < 4; i++)
		words[i] = htole64(insn[i / 2].word[i % 2]);
	vtadev_desc_keep(&desc);
	memset(element, 0x55, 16);
	assert_int_equal(vtadev_buf_write(code, 0, words, sizeof(words)), 0);
	assert_int_equal(vtadev_buf_write(code, PAGE / 2, element, 16), 0);
	assert_int_equal(vtadev_wait(from, submit(from, desc), FOREVER), 0);
	assert_int_equal(vtadev_buf_read(code, PAGE / 2, element, 16), 0);
	vtadev_buf_free(code);
}

/*
 * Two runs are given up, by the time limit and by the end of their queue: what they added is lost
 * with them (docs/hardware.md, "State"), and the queue beside them keeps what it had.
 */
static void check_given_up(void)
{
	static const uint8_t zeros[16];
	struct vtadev_queue *runs = queue(VTADEV_QUEUE_KEEP), *beside = queue(VTADEV_QUEUE_KEEP);
	struct vtadev_buf *code = endless(), *short_code = buffer(PAGE, VTADEV_HOST);
	struct vta_desc desc = endless_run(code);
	struct vta_desc once = vtadev_desc_run(vtadev_buf_addr(short_code), 2, 0);
	const struct vta_isa_insn finish = vta_isa_pack_finish(0);
	uint64_t seq, words[4] = { 0, 0, htole64(finish.word[0]), htole64(finish.word[1]) };
	uint8_t element[16];

	pack_additions(3, words);
	assert_int_equal(vtadev_buf_write(short_code, 0, words, sizeof(words)), 0);
	/* Otherwise the low bytes may be 0: runs are stopped after round numbers of additions. */
	assert_int_equal(vtadev_buf_write(code, 0, words, sizeof(words) / 2), 0);
	vtadev_desc_keep(&desc);
	vtadev_desc_keep(&once);
	assert_int_equal(vtadev_wait(beside, submit(beside, once), FOREVER), 0);
	seq = begin(runs, desc);
	atomic_store(&later, 3600 * 1000000000ll);
	assert_int_equal(vtadev_wait(runs, seq, FOREVER), -EIO);
	atomic_store(&later, 0);
	assert_int_equal(vtadev_recover(runs), 0);
	read_kept(runs, element);
	assert_memory_equal(element, zeros, sizeof(zeros));
	begin(runs, desc);
	vtadev_queue_destroy(runs);
	runs = queue(VTADEV_QUEUE_KEEP);
	read_kept(runs, element);
	assert_memory_equal(element, zeros, sizeof(zeros));
	read_kept(beside, element);
	for (size_t i = 0; i < sizeof(element); i++)
		assert_int_equal(element[i], 3 * 3);
	vtadev_queue_destroy(runs);
	vtadev_queue_destroy(beside);
	vtadev_buf_free(code);
	vtadev_buf_free(short_code);
}

TEST_F(RIG, a_run_that_is_given_up_leaves_the_next_exact)
{
	check_given_up();
}

TEST_F(TWO_CORES, a_run_that_is_given_up_leaves_the_next_exact_on_several_cores)
{
	check_given_up();
}

/* Queues are searched up to the last one: whichever is destroyed, all others still run. */
TEST_F(RIG, queues_come_and_go)
{
	static const unsigned int orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 1, 3, 0, 2 } };
	struct vtadev_queue *four[4];
	uint64_t seq;

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		for (unsigned int j = 0; j < 4; j++)
			four[j] = queue(0);
		for (unsigned int done = 0; done < 4; done++) {
			vtadev_queue_destroy(four[orders[i][done]]);
			for (unsigned int j = done + 1; j < 4; j++) {
				seq = submit(four[orders[i][j]], vtadev_desc_nop());
				assert_int_equal(vtadev_wait(four[orders[i][j]], seq, FOREVER), 0);
			}
			works(vtadev_desc_nop());
		}
	}
}

TEST_F(RIG, a_queue_without_memory_for_its_core_is_not_created)
{
	struct vtadev_queue *one, *two;
	struct vtadev *frail;
	struct vta_desc desc = vtadev_desc_nop();
	uint64_t seq;

	assert_int_equal(vtadev_open("frail:1", &frail), 0);
	assert_int_equal(vtadev_queue_create(frail, NULL, &one), 0);
	assert_int_equal(vtadev_queue_create(frail, NULL, &two), -ENOMEM);
	/* Nothing is lost by it. */
	assert_int_equal(vtadev_submit(one, &desc, 1, &seq), 0);
	assert_int_equal(vtadev_wait(one, seq, FOREVER), 0);
	vtadev_queue_destroy(one);
	assert_int_equal(vtadev_queue_create(frail, NULL, &two), 0);
	vtadev_queue_destroy(two);
	vtadev_close(frail);
}

TEST_F(RIG, a_lost_device_ends_everything)
{
	struct vtadev_queue *runs, *waits;
	struct vtadev_buf *buf, *none;
	char text[VTADEV_LOST_TEXT_MAX];
	struct vtadev_lost lost;
	struct vtadev *frail;
	struct vta_desc desc;
	uint64_t seq;

	assert_int_equal(vtadev_open("frail", &frail), 0);
	assert_int_equal(vtadev_queue_create(frail, NULL, &runs), 0);
	assert_int_equal(vtadev_queue_create(frail, NULL, &waits), 0);
	assert_int_equal(vtadev_buf_alloc(frail, PAGE, VTADEV_CARD, &buf), 0);
	desc = vtadev_desc_wait(vtadev_buf_addr(buf), 1);
	assert_int_equal(vtadev_submit(waits, &desc, 1, &seq), 0);
	desc = vtadev_desc_run(vtadev_buf_addr(buf), 1, 0);
	assert_int_equal(vtadev_submit(runs, &desc, 1, NULL), 0);
	assert_int_equal(vtadev_wait(waits, seq, FOREVER), -ENODEV);
	assert_true(polled(vtadev_fd(frail), -1) & POLLHUP);
	assert_int_equal(vtadev_submit(waits, &desc, 1, NULL), -ENODEV);
	assert_int_equal(vtadev_buf_alloc(frail, PAGE, 0, &none), -ENODEV);
	assert_int_equal(vtadev_lost(frail, &lost), 0);
	assert_int_equal(lost.fate, VTA_FATE_GIVEN_UP);
	assert_true(vtadev_lost_text(&lost, text, sizeof(text)) > 0);
	vtadev_queue_destroy(runs);
	vtadev_queue_destroy(waits);
	vtadev_buf_free(buf);
	vtadev_close(frail);
}
