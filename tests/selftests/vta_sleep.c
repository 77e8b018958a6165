// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_sleep - system suspend and hibernation, as far as the kernel tests them (pm_test), and
 * runtime suspend (kmod/vta_pm.c)
 */
#include <glob.h>

#include "vta_emu.h"
#include "vta_harness.h"
#include "vta_insn.h"

#define CARD_SIZE	(1u << 20)

/* An open file with patterns in its memory. */
struct worker {
	int fd;
	struct queue q;
	struct mem host, card;
	uint64_t generation;
};

FIXTURE(sleep) {
	bool possible;
	struct worker w;
};

/* The state to suspend to, and the phase from which the machine resumes. */
FIXTURE_VARIANT(sleep) {
	const char *state;
	const char *test;
};

FIXTURE_VARIANT_ADD(sleep, idle) { .state = "freeze", .test = "devices" };
FIXTURE_VARIANT_ADD(sleep, idle_powered_down) { .state = "freeze", .test = "platform" };
FIXTURE_VARIANT_ADD(sleep, memory) { .state = "mem", .test = "core" };

static bool has_word(const char *path, const char *word)
{
	char text[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	close(fd);
	return len > 0 && strstr(text, word);
}

static void fill_pattern(struct mem *mem, uint32_t seed)
{
	volatile uint32_t *words = mem->ptr;

	for (size_t i = 0; i < mem->size / 4; i++)
		words[i] = seed * 0x9e3779b9u + i;
}

static bool pattern_is_there(const struct mem *mem, uint32_t seed)
{
	const volatile uint32_t *words = mem->ptr;

	for (size_t i = 0; i < mem->size / 4; i++)
		if (words[i] != seed * 0x9e3779b9u + (uint32_t)i)
			return false;
	return true;
}

static int worker_begin(struct worker *w)
{
	int err;

	w->fd = card_open();
	err = w->fd < 0 ? w->fd : queue_open(w->fd, &w->q, NULL);
	err = err ? err : mem_alloc(w->fd, &w->host, 65536, VTA_BUF_HOST, 0);
	err = err ? err : mem_alloc(w->fd, &w->card, CARD_SIZE, VTA_BUF_CARD, 0);
	if (err)
		return err;
	fill_pattern(&w->host, 1);
	fill_pattern(&w->card, 2);
	w->generation = card_attr("generation");
	return queue_do(&w->q, desc_op(VTA_OP_NOP));
}

FIXTURE_SETUP(sleep)
{
	self->w.fd = -1;
	if (!has_word("/sys/power/state", variant->state) ||
	    !has_word("/sys/power/pm_test", variant->test))
		return;
	self->possible = true;
	emu_clear();
	/* More resets in a minute than a working card has. */
	file_write(PARAMETERS "max_resets", "0");
	file_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	ASSERT_EQ(0, file_write("/sys/power/pm_test", variant->test));
	ASSERT_EQ(0, worker_begin(&self->w));
}

FIXTURE_TEARDOWN(sleep)
{
	file_write("/sys/power/pm_test", "none");
	file_write(PARAMETERS "max_resets", "5");
	emu_clear();
	close(self->w.fd);
}

/* Older harnesses run a test even if its set-up skips it. */
#define SLEEP_OR_SKIP(leave)							\
	do {									\
		if (!self->possible)						\
			SKIP(leave, "this kernel does not test it");		\
	} while (0)
#define SLEEP_ONCE_OR_SKIP(leave)						\
	do {									\
		if (!self->possible || strcmp(variant->test, "devices"))	\
			SKIP(leave, "this kernel does not test it, or once is enough");	\
	} while (0)

/* Suspends the machine, and returns when it has resumed. */
static int machine_sleeps(const char *state)
{
	return file_write("/sys/power/state", state);
}

TEST_F(sleep, contexts_survive)
{
	SLEEP_OR_SKIP(return);
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, machine_sleeps(variant->state));
		EXPECT_TRUE(pattern_is_there(&self->w.host, 1));
		EXPECT_TRUE(pattern_is_there(&self->w.card, 2));
		EXPECT_EQ(1 + 2 * i, queue_seq(&self->w.q));
		EXPECT_EQ(0, queue_do(&self->w.q, desc_copy(self->w.card.addr,
							    self->w.host.addr, 64)));
		EXPECT_EQ(0, memcmp(self->w.card.ptr, self->w.host.ptr, 64));
		fill_pattern(&self->w.card, 2);
		EXPECT_EQ(0, queue_do(&self->w.q, desc_op(VTA_OP_NOP)));
	}
	EXPECT_EQ(self->w.generation, card_attr("generation"));
}

/* The current descriptor completes before, the others after resume. */
TEST_F(sleep, submitted_descriptors_complete)
{
	struct vta_desc descs[3] = {
		desc_fill(self->w.host.addr, 7, 4), desc_fill(self->w.host.addr + 4, 8, 4),
		desc_fill(self->w.host.addr + 8, 9, 4),
	};

	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, emu_inject("slow-engine=100 3"));
	queue_submit(&self->w.q, descs, 3);
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(0, queue_wait(&self->w.q, 4, PATIENCE_MS, NULL));
	EXPECT_EQ(7, ((volatile uint32_t *)self->w.host.ptr)[0]);
	EXPECT_EQ(8, ((volatile uint32_t *)self->w.host.ptr)[1]);
	EXPECT_EQ(9, ((volatile uint32_t *)self->w.host.ptr)[2]);
	EXPECT_EQ(4, queue_seq(&self->w.q));
	EXPECT_EQ(self->w.generation, card_attr("generation"));
}

/* The CPU would take minutes for a GiB. */
TEST_F(sleep, card_copies_its_memory_itself)
{
	uint64_t copies = card_counter("copies"), bytes = card_counter("copy_bytes");
	struct mem parts[6];

	SLEEP_OR_SKIP(return);
	/* In more than one piece. */
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++)
		ASSERT_EQ(0, mem_alloc(self->w.fd, &parts[i], 65536, VTA_BUF_CARD, 0));
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i += 2)
		ASSERT_EQ(0, mem_free(&parts[i]));
	for (unsigned int i = 1; i < ARRAY_SIZE(parts); i += 2)
		fill_pattern(&parts[i], 10 + i);
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_LE(copies + 2, card_counter("copies"));
	EXPECT_EQ(bytes + 2 * (CARD_SIZE + 3 * 65536), card_counter("copy_bytes"));
	EXPECT_TRUE(pattern_is_there(&self->w.card, 2));
	for (unsigned int i = 1; i < ARRAY_SIZE(parts); i += 2) {
		EXPECT_TRUE(pattern_is_there(&parts[i], 10 + i));
		munmap(parts[i].ptr, parts[i].size);
	}
	EXPECT_EQ(0, queue_do(&self->w.q, desc_op(VTA_OP_NOP)));
}

/* Jobs of each user, and their duration, for which a turn is too short. */
#define JOBS	8
#define JOB	"slow-engine=20"

/* Submits jobs behind a word of the gate, with a stamp of the first (last: of the last) one. */
static int submit_jobs(struct worker *w, uint32_t gate, bool last)
{
	struct vta_desc descs[1 + JOBS] = { desc_wait(gate, 1) };

	for (unsigned int i = 1; i <= JOBS; i++)
		descs[i] = desc_fill(w->host.addr + 64, 0, 4);
	descs[last ? JOBS : 1] = desc_stamp(descs[1], w->host.addr);
	return queue_submit(&w->q, descs, ARRAY_SIZE(descs)) ? 0 : -EIO;
}

/*
 * The copies that restore the card's memory take so long that the user whose group they were
 * billed to would have to wait for all jobs of the other user.
 */
TEST_F(sleep, restoring_card_memory_is_billed_to_nobody)
{
	const struct vta_stamp *first, *last;
	struct vta_buf_import gate;
	struct queue opener;
	struct worker other;
	uint32_t addr;
	int dmabuf;

	SLEEP_ONCE_OR_SKIP(return);
	ASSERT_EQ(0, ctx_number(self->w.fd, "vta-group"));
	ASSERT_EQ(0, setresuid(NOBODY, 0, 0));
	EXPECT_EQ(0, worker_begin(&other));
	ASSERT_EQ(0, setresuid(0, 0, 0));
	ASSERT_NE(0, ctx_number(other.fd, "vta-group"));
	ASSERT_EQ(0, queue_open(self->w.fd, &opener, NULL));
	addr = self->w.card.addr;
	*(volatile uint64_t *)self->w.card.ptr = 0;
	__sync_synchronize();
	dmabuf = buf_export(self->w.fd, self->w.card.handle, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, buf_import(other.fd, dmabuf, 0, &gate));
	ASSERT_EQ(0, submit_jobs(&self->w, addr, false));
	ASSERT_EQ(0, submit_jobs(&other, (uint32_t)gate.addr, true));

	/* The first copy saves, the second restores. */
	ASSERT_EQ(0, emu_inject("slow-engine=4000+1 1"));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	ASSERT_EQ(1, emu_injected("slow-engine"));
	ASSERT_EQ(0, emu_inject(JOB));
	ASSERT_EQ(0, queue_do(&opener, desc_signal(addr, 1)));
	EXPECT_EQ(0, queue_wait(&self->w.q, self->w.q.submitted, PATIENCE_MS, NULL));
	EXPECT_EQ(0, queue_wait(&other.q, other.q.submitted, PATIENCE_MS, NULL));
	first = self->w.host.ptr;
	last = other.host.ptr;
	EXPECT_LT(le64toh(first->end), le64toh(last->start));

	close(dmabuf);
	munmap(other.host.ptr, other.host.size);
	munmap(other.card.ptr, other.card.size);
	queue_unmap(&other.q);
	queue_unmap(&opener);
	close(other.fd);
}

/* It waits again after resume, and the descriptor behind it still completes. */
TEST_F(sleep, held_queue_survives)
{
	struct vta_desc descs[2] = {
		desc_wait(self->w.host.addr, UINT64_MAX), desc_fill(self->w.host.addr + 8, 5, 4),
	};
	struct waiter w;

	SLEEP_OR_SKIP(return);
	queue_submit(&self->w.q, descs, 2);
	ASSERT_EQ(0, waiter_start(&w, &self->w.q, 3, PATIENCE_MS));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(1, queue_seq(&self->w.q));
	queue_release(&self->w.q, &self->w.host, UINT64_MAX);
	EXPECT_EQ(0, waiter_join(&w));
	EXPECT_EQ(5, ((volatile uint32_t *)self->w.host.ptr)[2]);
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(self->w.fd));
	EXPECT_EQ(self->w.generation, card_attr("generation"));
}

/* A descriptor that takes half a minute at least, byte by byte, halts its queue alone. */
TEST_F(sleep, long_descriptor_alone_is_aborted)
{
	struct vta_desc descs[2] = {
		desc_fill2d(self->w.host.addr, 0, 7, 1, 400000000), desc_op(VTA_OP_NOP),
	};
	uint64_t doorbells = card_counter("doorbells"), aborts;
	struct vta_queue_fault fault;
	struct worker other;
	struct waiter w;

	SLEEP_ONCE_OR_SKIP(return);
	ASSERT_EQ(0, worker_begin(&other));
	aborts = card_attr("recovery/queue_aborts");
	ASSERT_EQ(0, emu_inject("limit-never 1"));
	queue_submit(&self->w.q, descs, 2);
	EXPECT_LE(doorbells + 1, card_counter_reaches("doorbells", doorbells + 1));
	ASSERT_EQ(0, waiter_start(&w, &self->w.q, 3, PATIENCE_MS));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(-EIO, waiter_join(&w));
	ASSERT_EQ(0, queue_fault(&self->w.q, &fault));
	EXPECT_EQ(VTA_FAULT_SLEEP, fault.reason);
	EXPECT_EQ(2, fault.seq);
	EXPECT_NE(NULL, strstr(card_last_line("fault_log"), "reason=sleep "));
	EXPECT_EQ(aborts + 1, card_attr("recovery/queue_aborts"));
	EXPECT_EQ(0, queue_do(&other.q, desc_op(VTA_OP_NOP)));
	EXPECT_TRUE(pattern_is_there(&other.card, 2));
	ASSERT_EQ(0, queue_recover(&self->w.q));
	EXPECT_EQ(0, queue_do(&self->w.q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(self->w.generation, card_attr("generation"));
	munmap(other.host.ptr, other.host.size);
	munmap(other.card.ptr, other.card.size);
	queue_unmap(&other.q);
	close(other.fd);
}

TEST_F(sleep, queue_that_no_abort_stops_is_a_reset)
{
	struct waiter w;

	SLEEP_ONCE_OR_SKIP(return);
	ASSERT_EQ(0, emu_inject("hang-copy"));
	ASSERT_EQ(0, emu_inject("stop-never"));
	queue_put(&self->w.q, desc_fill(self->w.host.addr, 7, 4));
	ASSERT_EQ(0, waiter_start(&w, &self->w.q, 2, PATIENCE_MS));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(-ENODEV, waiter_join(&w));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_SLEEP), card_lost(self->w.fd));
	EXPECT_EQ(self->w.generation + 1, card_attr("generation"));
}

/* Registers of zeroes would describe queues that have stopped and are idle. */
TEST_F(sleep, zeroes_are_no_stopped_queues)
{
	struct vta_queue_create create = { .ring_order = 4 };
	struct vta_desc signal = desc_signal(self->w.host.addr, 1);
	struct queue held;
	int err;

	SLEEP_ONCE_OR_SKIP(return);
	ASSERT_EQ(0, mem_free(&self->w.card));
	*(volatile uint64_t *)self->w.host.ptr = 0;
	ASSERT_EQ(0, queue_open(self->w.fd, &held, &create));
	queue_hold(&held, &self->w.host, 1);
	/* Of each of two queues STATE, SUBMITTED and STATE once more; then MAGIC. */
	ASSERT_EQ(0, emu_inject("zeros 7"));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	/* Submitted descriptors are executed, or lost with the card. */
	err = queue_do(&self->w.q, signal);
	EXPECT_TRUE(!err || err == -ENODEV);
	EXPECT_EQ(err, queue_wait(&held, 1, PATIENCE_MS, NULL));
	queue_unmap(&held);
}


/*
 * Resume resets the card, so the counters of its engines start again, and a hang is not taken
 * for the one before.
 */
TEST_F(sleep, hangs_are_detected_after_resume)
{
	struct vta_desc fill = desc_fill(self->w.host.addr, 7, 4);
	struct client c;
	int err = 0;

	SLEEP_ONCE_OR_SKIP(return);
	/* No card memory, which its copy engine would copy meanwhile. */
	ASSERT_EQ(0, mem_free(&self->w.card));
	close(self->w.fd);
	queue_unmap(&self->w.q);
	munmap(self->w.host.ptr, self->w.host.size);
	self->w.fd = -1;
	ASSERT_EQ(0, card_reset());
	ASSERT_EQ(0, file_write(PARAMETERS "max_job_ms", "100"));
	ASSERT_EQ(0, file_write(PARAMETERS "hang_ms", "1000"));
	ASSERT_EQ(0, client_open(&c));
	fill = desc_fill(c.mem.addr, 7, 4);
	for (unsigned int i = 0; i < 2 && !err; i++) {
		struct vta_queue_fault fault = { 0 };

		ASSERT_EQ(0, emu_inject("hang-copy"));
		EXPECT_EQ(-EIO, queue_do(&c.q, fill));
		EXPECT_EQ(0, queue_fault(&c.q, &fault));
		EXPECT_EQ(VTA_FAULT_HANG, fault.reason);
		ASSERT_EQ(0, emu_clear());
		err = queue_recover(&c.q);
		EXPECT_EQ(0, err);
		ASSERT_EQ(0, machine_sleeps(variant->state));
	}
	EXPECT_EQ(LOST(VTA_FATE_NONE, VTA_CAUSE_NONE), card_lost(c.fd));
	EXPECT_EQ(0, file_write(PARAMETERS "max_job_ms", "1000"));
	EXPECT_EQ(0, file_write(PARAMETERS "hang_ms", "10000"));
	client_close(&c);
}

/* One instruction, on the state that the queue's last one left in the core. */
static int run_kept(struct worker *w, struct queue *q, struct insn insn)
{
	struct vta_desc desc = desc_run(w->host.addr, 1, 0);

	memcpy(w->host.ptr, &insn, sizeof(insn));
	desc.op_flags |= htole32(VTA_DESC_KEEP);
	return queue_do(q, desc);
}

/* Of two queues, the last one has its state in the core on suspend, the other in memory. */
TEST_F(sleep, kept_state_survives)
{
	struct vta_queue_create create = { .ring_order = 4, .flags = VTA_QUEUE_KEEP };
	struct insn push = insn_move(VTA_ISA_LOAD | VTA_ISA_PUSH_NEXT, VTA_ISA_INP, 0, 0, 0, 0);
	struct queue queues[2], idle;

	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, queue_open(self->w.fd, &idle, &create));
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, queue_open(self->w.fd, &queues[i], &create));
		ASSERT_EQ(0, run_kept(&self->w, &queues[i], push));
	}
	ASSERT_EQ(0, machine_sleeps(variant->state));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(0, run_kept(&self->w, &queues[i], insn_finish(VTA_ISA_POP_PREV)));
		/* There was one token, and it was not made anew. */
		EXPECT_EQ(-EIO, run_kept(&self->w, &queues[i], insn_finish(VTA_ISA_POP_PREV)));
	}
	EXPECT_EQ(-EIO, run_kept(&self->w, &idle, insn_finish(VTA_ISA_POP_PREV)));
	EXPECT_EQ(self->w.generation, card_attr("generation"));
}

/* Waiters keep waiting, and resume arms the card for them. */
TEST_F(sleep, waiters_survive)
{
	struct waiter w;

	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, waiter_arm(&w, &self->w.q, 2, PATIENCE_MS));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	queue_put(&self->w.q, desc_op(VTA_OP_NOP));
	EXPECT_EQ(0, waiter_join(&w));
}

TEST_F(sleep, halted_queue_stays_halted)
{
	struct vta_queue_fault fault;

	SLEEP_OR_SKIP(return);
	ASSERT_EQ(-EIO, queue_do(&self->w.q, desc_fill(0x40000000, 0, 4)));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(-EIO, queue_wait(&self->w.q, 2, 0, NULL));
	ASSERT_EQ(0, queue_fault(&self->w.q, &fault));
	EXPECT_EQ(VTA_FAULT_PAGE, fault.reason);
	ASSERT_EQ(0, queue_recover(&self->w.q));
	EXPECT_EQ(0, queue_do(&self->w.q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(3, queue_seq(&self->w.q));
}

TEST_F(sleep, card_that_cannot_be_reset_on_resume_is_lost)
{
	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, emu_inject("reset-ignored"));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->w.fd, PATIENCE_MS));
	EXPECT_EQ(-ENODEV, queue_wait(&self->w.q, 2, 0, NULL));
	EXPECT_EQ(LOST(VTA_FATE_RESET, VTA_CAUSE_WAKE), card_lost(self->w.fd));
	EXPECT_EQ(self->w.generation + 1, card_attr("generation"));
}

/* The saved state does not belong to this card. */
TEST_F(sleep, exchanged_card_is_given_up_on_resume)
{
	int fd;

	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, emu_inject("reg-serial=77"));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->w.fd, PATIENCE_MS));
	EXPECT_EQ(-ENODEV, card_open());
	EXPECT_EQ(LOST(VTA_FATE_GIVEN_UP, VTA_CAUSE_WAKE), card_lost(self->w.fd));
	EXPECT_EQ(-ENODEV, card_reset());
	ASSERT_EQ(0, emu_clear());
	EXPECT_EQ(0, card_reset());
	fd = card_open();
	EXPECT_LE(0, fd);
	close(fd);
}

TEST_F(sleep, card_whose_queues_do_not_restart_is_reset)
{
	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, emu_inject("start-never"));
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(POLLERR | POLLHUP, card_poll(self->w.fd, PATIENCE_MS));
	EXPECT_EQ(-ENODEV, queue_wait(&self->w.q, 2, 0, NULL));
	EXPECT_EQ(self->w.generation + 1, card_attr("generation"));
}

/* It has no state to save, and no waiters. */
TEST_F(sleep, card_given_up_stays_given_up)
{
	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, emu_inject("ones"));
	ASSERT_EQ(-ENODEV, card_reset());
	ASSERT_EQ(0, machine_sleeps(variant->state));
	EXPECT_EQ(-ENODEV, card_open());
	ASSERT_EQ(0, emu_clear());
	EXPECT_EQ(-ENODEV, card_open());
	EXPECT_EQ(0, card_reset());
	EXPECT_EQ(self->w.generation + 1, card_attr("generation"));
}

/* All work continues. */
TEST_F(sleep, machine_stays_awake_without_memory_to_save_the_cards)
{
	struct vta_buf_alloc card = { .size = card_attr("mem_free"), .flags = VTA_BUF_CARD };
	struct vta_buf_alloc host = { .size = card.size / 4 };
	int err;

	SLEEP_OR_SKIP(return);
	ASSERT_EQ(0, card_ioctl(self->w.fd, VTA_IOCTL_BUF_ALLOC, &card));
	do {
		struct vta_buf_alloc more = host;

		err = card_ioctl(self->w.fd, VTA_IOCTL_BUF_ALLOC, &more);
	} while (!err);
	ASSERT_EQ(-ENOMEM, err);
	EXPECT_EQ(-ENOMEM, machine_sleeps(variant->state));
	EXPECT_EQ(0, queue_do(&self->w.q, desc_op(VTA_OP_NOP)));
	EXPECT_TRUE(pattern_is_there(&self->w.card, 2));
	EXPECT_EQ(self->w.generation, card_attr("generation"));
}

/* ---- hibernation ---- */

FIXTURE(hibernation) {
	bool possible;
	struct worker w;
};

FIXTURE_SETUP(hibernation)
{
	self->w.fd = -1;
	if (!has_word("/sys/power/state", "disk"))
		return;
	self->possible = true;
	ASSERT_EQ(0, file_write("/sys/power/pm_test", "devices"));
	ASSERT_EQ(0, worker_begin(&self->w));
}

FIXTURE_TEARDOWN(hibernation)
{
	file_write("/sys/power/pm_test", "none");
	close(self->w.fd);
}

/* The kernel itself waits for five of the seconds that this takes. */
TEST_F(hibernation, contexts_survive)
{
	if (!self->possible)
		SKIP(return, "this kernel does not hibernate");
	ASSERT_EQ(0, machine_sleeps("disk"));
	EXPECT_TRUE(pattern_is_there(&self->w.host, 1));
	EXPECT_TRUE(pattern_is_there(&self->w.card, 2));
	EXPECT_EQ(0, queue_do(&self->w.q, desc_op(VTA_OP_NOP)));
	EXPECT_EQ(2, queue_seq(&self->w.q));
	EXPECT_EQ(self->w.generation, card_attr("generation"));
}

/* ---- runtime suspend ---- */

static bool card_sleeps(int ms)
{
	int64_t end = now_ns() + ms * 1000000ll;
	char text[32];

	while (strcmp(card_text("device/power/runtime_status", text, sizeof(text)), "suspended")) {
		if (now_ns() > end)
			return false;
		sleep_ms(10);
	}
	return true;
}

static int card_may_sleep(bool may)
{
	return file_write(card_path("device/power/control"), may ? "auto" : "on");
}

/* The time after which an unused card is suspended. */
static int card_idle_ms(const char *ms)
{
	return file_write(card_path("device/power/autosuspend_delay_ms"), ms);
}

/* Number of the card's files of these names that can be opened, but have no value now. */
static unsigned int files_without_value(const char *names)
{
	unsigned int count = 0;
	char path[96], text[64];
	glob_t found = { 0 };

	snprintf(path, sizeof(path), "/sys/class/vta/%s/%s", card_name(), names);
	glob(path, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		count += fd >= 0 && read(fd, text, sizeof(text)) < 0 && errno == ENODATA;
		close(fd);
	}
	globfree(&found);
	return count;
}

/* Another user can read all files and run vtactl. */
static bool another_user_can_read(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		bool all = !setgid(65534) && !setuid(65534) &&
			   files_without_value("counters/*") > 1 &&
			   files_without_value("device/hwmon/hwmon*/*_input") == 2 &&
			   !system("vtactl status 0 >/dev/null") &&
			   !system("vtactl export >/dev/null") &&
			   !system("vtactl top -b -n 2 -d 0.1 >/dev/null");

		_exit(!all);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

TEST(unused_card_is_suspended)
{
	uint64_t generation = card_attr("generation");
	struct queue q;
	int fd, i;

	ASSERT_EQ(0, card_may_sleep(true));
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(card_sleeps(PATIENCE_MS));
		fd = card_open();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, queue_open(fd, &q, NULL));
		EXPECT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
		EXPECT_FALSE(card_sleeps(2500));
		queue_close(&q);
		close(fd);
	}
	EXPECT_EQ(generation, card_attr("generation"));
	EXPECT_EQ(0, card_may_sleep(false));
}

/* Any user may read counters and sensors. A card that was resumed would stay so here. */
TEST(reading_does_not_resume_a_suspended_card)
{
	int fd;

	ASSERT_EQ(0, card_may_sleep(true));
	ASSERT_TRUE(card_sleeps(PATIENCE_MS));
	ASSERT_EQ(0, card_idle_ms("3600000"));
	EXPECT_TRUE(another_user_can_read());
	EXPECT_EQ(0, system("vtactl status 0 >/dev/null"));
	EXPECT_EQ(0, system("vtactl export >/tmp/metrics"));
	EXPECT_TRUE(card_sleeps(0));
	EXPECT_EQ(0, system("grep -q '^vta_card_state.*\"asleep\"} 1$' /tmp/metrics"));
	EXPECT_NE(0, system("grep -q '^vta_temperature_celsius' /tmp/metrics"));
	fd = card_open();
	EXPECT_LE(0, fd);
	close(fd);
	EXPECT_FALSE(card_sleeps(0));
	ASSERT_EQ(0, card_idle_ms("1000"));
	EXPECT_EQ(0, card_may_sleep(false));
}

/* A dma-buf outlives the file, and can be read. */
TEST(card_with_exported_memory_is_not_suspended)
{
	struct vta_buf_export arg = { .flags = O_RDWR };
	volatile uint32_t *words;
	struct mem mem;
	int fd;

	ASSERT_EQ(0, card_may_sleep(true));
	fd = card_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mem_alloc(fd, &mem, 4096, VTA_BUF_CARD, 0));
	*(volatile uint32_t *)mem.ptr = 42;
	arg.handle = mem.handle;
	ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_BUF_EXPORT, &arg));
	munmap(mem.ptr, mem.size);
	close(fd);
	EXPECT_FALSE(card_sleeps(2500));
	words = mmap(NULL, 4096, PROT_READ, MAP_SHARED, arg.fd, 0);
	ASSERT_NE(MAP_FAILED, words);
	EXPECT_EQ(42, words[0]);
	munmap((void *)words, 4096);
	close(arg.fd);
	EXPECT_TRUE(card_sleeps(PATIENCE_MS));
	EXPECT_EQ(0, card_may_sleep(false));
}

/*
 * As a card whose slot was without power, any number of times: no file has lost the card, and
 * this does not count as a reset.
 */
TEST(card_that_loses_power_in_suspend_works_again)
{
	uint64_t generation = card_attr("generation");
	uint64_t resets = card_attr("recovery/soft_resets");

	ASSERT_EQ(0, card_may_sleep(true));
	for (int i = 0; i < 7; i++) {
		EXPECT_TRUE(card_sleeps(PATIENCE_MS));
		ASSERT_EQ(0, emu_inject("reg-generation=77 1"));
		EXPECT_EQ(0, card_try());
	}
	EXPECT_EQ(generation, card_attr("generation"));
	EXPECT_EQ(resets, card_attr("recovery/soft_resets"));
	EXPECT_EQ(0, card_may_sleep(false));
}

/* It may be suspended again, and a reset by an administrator brings it back. */
TEST(card_that_does_not_resume_is_given_up)
{
	uint64_t given_up = card_attr("recovery/given_up");
	int fd;

	ASSERT_EQ(0, card_may_sleep(true));
	EXPECT_TRUE(card_sleeps(PATIENCE_MS));
	ASSERT_EQ(0, emu_inject("ones"));
	EXPECT_EQ(-ENODEV, card_open());
	EXPECT_EQ(given_up + 1, card_attr("recovery/given_up"));
	EXPECT_TRUE(card_sleeps(PATIENCE_MS));
	EXPECT_EQ(-ENODEV, card_open());
	EXPECT_EQ(UINT64_MAX, card_counter("resets"));
	EXPECT_EQ(given_up + 1, card_attr("recovery/given_up"));
	ASSERT_EQ(0, emu_clear());
	EXPECT_EQ(0, card_reset());
	fd = card_open();
	EXPECT_LE(0, fd);
	close(fd);
	EXPECT_EQ(0, card_may_sleep(false));
}

TEST_HARNESS_MAIN
