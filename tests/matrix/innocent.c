// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process of its own that fills and copies memory, computes with it, and checks the results.
 * When it loses the card it opens it again, as any program would.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "innocent.h"
#include "card.h"
#include "vta_insn.h"
#include "vta_selftest.h"

#define SIZE	8192u
#define UOPS	2048u	/* where in the code */
#define ADDEND	5
/* A wait that succeeds only after this time was not woken. */
#define WAIT_MS	1500
/* One that waits as often has been kept waiting, also on a busy machine. */
#define TRIES	3u
#define END_MS	60000

struct innocent {
	pid_t pid;
	atomic_bool stop;
	_Atomic uint64_t rounds;
	_Atomic unsigned int lost;	/* ENODEV */
	_Atomic unsigned int halted;	/* EIO */
	_Atomic unsigned int stalled;	/* a wait timed out, or was not woken */
	_Atomic int error;		/* anything else */
	_Atomic bool corrupt;
};

struct work {
	int fd;
	struct queue q;
	struct mem from, to, code, out;
	unsigned int insns, results;
};

/* Each 32-bit number of @from, plus ADDEND, into a byte of @out. */
static int work_prepare(struct work *w)
{
	struct vta_isa_loop loops = { .uop_end = 1, .iter_out = 1, .dst_factor_in = 1 };
	struct insn *insn = w->code.ptr;
	struct vta_info info;
	struct core core;
	int err = card_ioctl(w->fd, VTA_IOCTL_INFO, &info);

	if (err)
		return err;
	core = core_of(&info);
	loops.iter_in = SIZE / core.acc_bytes;
	w->results = loops.iter_in * core.inp_bytes;
	*(uint32_t *)((char *)w->code.ptr + UOPS) = uop(&core, 0, 0, 0);
	insn[0] = insn_load(VTA_ISA_UOP, 0, (w->code.addr + UOPS) / 4, 1, 1);
	insn[1] = insn_load(VTA_ISA_ACC, 0, w->from.addr / core.acc_bytes, 1, loops.iter_in);
	insn[2] = insn_alu(&core, VTA_ISA_PUSH_NEXT, VTA_ISA_ADD, ADDEND, &loops);
	insn[3] = insn_move(VTA_ISA_STORE | VTA_ISA_POP_PREV | VTA_ISA_PUSH_PREV, VTA_ISA_OUT, 0,
			    w->out.addr / core.inp_bytes, 1, loops.iter_in);
	insn[4] = insn_finish(VTA_ISA_POP_NEXT);
	w->insns = 5;
	return 0;
}

static int work_begin(struct work *w)
{
	int err;

	memset(w, 0, sizeof(*w));
	/* After a rebind the node may have another number. */
	if (!card_bound())
		return -ENODEV;
	w->fd = card_open();
	if (w->fd < 0)
		return w->fd == -ENOENT || w->fd == -ENXIO ? -ENODEV : w->fd;
	err = queue_open(w->fd, &w->q, NULL);
	err = err ? err : mem_alloc(w->fd, &w->from, SIZE, VTA_BUF_HOST, 0);
	err = err ? err : mem_alloc(w->fd, &w->to, SIZE, VTA_BUF_CARD, 0);
	err = err ? err : mem_alloc(w->fd, &w->code, 4096, VTA_BUF_HOST, 0);
	err = err ? err : mem_alloc(w->fd, &w->out, SIZE, VTA_BUF_HOST, 0);
	return err ? err : work_prepare(w);
}

static void unmap(struct mem *mem)
{
	if (mem->ptr && mem->ptr != MAP_FAILED)
		munmap(mem->ptr, mem->size);
}

static void work_end(struct work *w)
{
	if (w->fd < 0)
		return;
	queue_unmap(&w->q);	/* as much as there is of it */
	unmap(&w->from);
	unmap(&w->to);
	unmap(&w->code);
	unmap(&w->out);
	close(w->fd);
	w->fd = -1;
}

/* One round. Memory that was lost meanwhile reads as zeroes, and is not checked. */
static int work_do(struct work *w, struct innocent *self, uint32_t pattern)
{
	const struct vta_desc descs[] = {
		desc_fill(w->from.addr, pattern, SIZE),
		desc_copy(w->to.addr, w->from.addr, SIZE),
		desc_copy(w->from.addr, w->to.addr, SIZE),
		desc_run(w->code.addr, w->insns, 0),
	};
	uint64_t seq = queue_submit(&w->q, descs, 4);
	const volatile uint8_t *out = w->out.ptr;
	const uint8_t sum = (uint8_t)(pattern + ADDEND);
	uint32_t first, last;
	bool added;
	unsigned int tries = 0;
	int err;

	do {
		err = queue_wait(&w->q, seq, WAIT_MS, NULL);
	} while (err == -ETIMEDOUT && ++tries < TRIES && !atomic_load(&self->stop));
	if (err == -ETIME || tries == TRIES)
		self->stalled++;
	if (err == -ETIME)	/* it came, but without a wake-up */
		err = 0;
	if (err)
		return err;
	first = *(volatile uint32_t *)w->from.ptr;
	last = ((volatile uint32_t *)w->from.ptr)[SIZE / 4 - 1];
	added = out[0] == sum && out[w->results - 1] == sum;
	err = queue_wait(&w->q, seq, 0, NULL);
	if (!err && (first != pattern || last != pattern || !added))
		self->corrupt = true;
	return err;
}

static void innocent_run(struct innocent *self)
{
	struct work w = { .fd = -1 };
	uint32_t pattern = 0x1a0cea7;
	int err = -ENODEV;

	while (!atomic_load(&self->stop)) {
		if (w.fd < 0)
			err = work_begin(&w);
		if (!err)
			err = work_do(&w, self, pattern++);
		if (!err) {
			self->rounds++;
			sleep_ms(1);
			continue;
		}
		if (err == -ENODEV)
			self->lost++;
		else if (err == -EIO)
			self->halted++;
		else if (err != -ETIMEDOUT && !self->error)
			self->error = err;
		work_end(&w);
		sleep_ms(20);
	}
	work_end(&w);
}

struct innocent *innocent_start(void)
{
	struct innocent *self = mmap(NULL, sizeof(*self), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t end = now_ns() + END_MS * 1000000ll;
	pid_t pid;

	if (self == MAP_FAILED)
		return NULL;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		innocent_run(self);
		_exit(0);
	}
	self->pid = pid;	/* the child does not read it */
	while (self->pid > 0 && !self->rounds && now_ns() < end)
		sleep_ms(1);
	return self;
}

uint64_t innocent_rounds(const struct innocent *self)
{
	return self->rounds;
}

uint64_t innocent_next(const struct innocent *self)
{
	/* The first of the two may be over on the card, and not counted yet. */
	return self->rounds + 2;
}

bool innocent_corrupt(struct innocent *self)
{
	return atomic_exchange(&self->corrupt, false);
}

static bool reaped(pid_t pid)
{
	int64_t end = now_ns() + END_MS * 1000000ll;

	while (now_ns() < end) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		sleep_ms(1);
	}
	return false;
}

bool innocent_stalled(const struct innocent *self)
{
	return self->stalled;
}

const char *innocent_end(struct innocent *self, bool may_lose)
{
	static char why[128];
	const char *ret = why;

	atomic_store(&self->stop, true);
	if (!reaped(self->pid)) {
		kill(self->pid, SIGKILL);
		ret = "the innocent cannot be ended";
	} else if (self->corrupt) {
		ret = "the innocent's results are wrong";
	} else if (self->error) {
		snprintf(why, sizeof(why), "the innocent got errno %d", -self->error);
	} else if (self->halted && !may_lose) {
		snprintf(why, sizeof(why), "the innocent's queue halted %u times", self->halted);
	} else if (self->lost && !may_lose) {
		snprintf(why, sizeof(why), "the innocent lost the card %u times", self->lost);
	} else {
		ret = NULL;
	}
	munmap(self, sizeof(*self));
	return ret;
}
