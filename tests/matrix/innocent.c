// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process of its own that fills and copies memory, and looks at what it got.
 * When it loses the card it opens it anew, as any program would.
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

#include "matrix.h"
#include "vta_selftest.h"

#define SIZE	8192u
/* One that waits longer has been kept waiting. */
#define WAIT_MS	1500
#define END_MS	60000

struct innocent {
	pid_t pid;
	atomic_bool stop;
	_Atomic uint64_t rounds;
	_Atomic unsigned int lost;	/* ENODEV */
	_Atomic unsigned int halted;	/* EIO */
	_Atomic unsigned int stalled;	/* ETIMEDOUT */
	_Atomic int error;		/* anything else */
	_Atomic bool corrupt;
};

struct work {
	int fd;
	struct queue q;
	struct mem from, to;
};

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
	return err ? err : mem_alloc(w->fd, &w->to, SIZE, VTA_BUF_CARD, 0);
}

static void work_end(struct work *w)
{
	if (w->fd < 0)
		return;
	queue_unmap(&w->q);	/* as much as there is of it */
	if (w->from.ptr)
		munmap(w->from.ptr, SIZE);
	if (w->to.ptr)
		munmap(w->to.ptr, SIZE);
	close(w->fd);
	w->fd = -1;
}

/* One round; what was lost meanwhile reads as zeroes, and is not looked at. */
static int work_do(struct work *w, struct innocent *self, uint32_t pattern)
{
	const struct vta_desc descs[] = {
		desc_fill(w->from.addr, pattern, SIZE),
		desc_copy(w->to.addr, w->from.addr, SIZE),
		desc_copy(w->from.addr, w->to.addr, SIZE),
	};
	uint64_t seq = queue_submit(&w->q, descs, 3);
	uint32_t first, last;
	unsigned int tries = 2;		/* then it is lost, as far as a program can tell */
	int err;

	do {
		err = queue_wait(&w->q, seq, WAIT_MS, NULL);
		if (err == -ETIMEDOUT || err == -ETIME)
			self->stalled++;
		if (err == -ETIME)	/* it came, but nobody told */
			err = 0;
	} while (err == -ETIMEDOUT && tries-- && !atomic_load(&self->stop));
	if (err)
		return err;
	first = *(volatile uint32_t *)w->from.ptr;
	last = ((volatile uint32_t *)w->from.ptr)[SIZE / 4 - 1];
	err = queue_wait(&w->q, seq, 0, NULL);
	if (!err && (first != pattern || last != pattern))
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
	self->pid = pid;	/* the child does not look at it */
	while (self->pid > 0 && !self->rounds && now_ns() < end)
		sleep_ms(1);
	return self;
}

uint64_t innocent_rounds(const struct innocent *self)
{
	return self->rounds;
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

const char *innocent_end(struct innocent *self, bool may_lose, bool may_stall)
{
	static char why[128];
	const char *ret = why;

	atomic_store(&self->stop, true);
	if (!reaped(self->pid)) {
		kill(self->pid, SIGKILL);
		ret = "the innocent cannot be ended";
	} else if (self->corrupt) {
		ret = "the innocent's memory is not what it should be";
	} else if (self->error) {
		snprintf(why, sizeof(why), "the innocent got errno %d", -self->error);
	} else if (self->halted && !may_lose) {
		snprintf(why, sizeof(why), "the innocent's queue halted %u times", self->halted);
	} else if (self->lost && !may_lose) {
		snprintf(why, sizeof(why), "the innocent lost the card %u times", self->lost);
	} else if (self->stalled && !may_stall && !may_lose) {
		snprintf(why, sizeof(why), "the innocent was kept waiting %u times",
			 self->stalled);
	} else {
		ret = NULL;
	}
	munmap(self, sizeof(*self));
	return ret;
}
