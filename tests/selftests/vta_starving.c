// SPDX-License-Identifier: GPL-2.0-only
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vta_starving.h"

#define RT_LIMIT	"/proc/sys/kernel/sched_rt_runtime_us"

enum { HAS_PROCESSOR, TO_LOSE_IT, HAS_NONE, ENDS };

static bool stay_on(int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

struct starving *starving_new(void)
{
	struct starving *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	if (!sched_getaffinity(0, sizeof(s->processors), &s->processors) && stay_on(1) &&
	    !file_write(RT_LIMIT, "-1"))
		return s;
	starving_free(s);
	return NULL;
}

int starving_free(struct starving *s)
{
	int err = file_write(RT_LIMIT, "950000");

	if (sched_setaffinity(0, sizeof(s->processors), &s->processors))
		err = -1;
	munmap(s, sizeof(*s));
	return err;
}

static int takes_processor_0(void *arg)
{
	const struct sched_param lowest = { .sched_priority = 1 };
	struct starving *s = arg;
	int64_t until;
	int to_lose_it = TO_LOSE_IT, has_none = HAS_NONE;

	MUST(stay_on(0) && !sched_setscheduler(0, SCHED_FIFO, &lowest));
	while (s->state == HAS_PROCESSOR)
		sleep_ms(1);
	if (!atomic_compare_exchange_strong(&s->state, &to_lose_it, HAS_NONE))
		return 0;
	until = now_ns() + s->ms * 1000000ll;
	while (s->state == HAS_NONE && now_ns() < until)
		;
	atomic_compare_exchange_strong(&s->state, &has_none, ENDS);
	return 0;
}

static int waits_until_lost(void *arg)
{
	struct starving *s = arg;

	MUST(stay_on(1));
	s->waited = queue_wait(&s->idle, 1, -1, NULL);
	s->polled = card_poll(s->c.fd, PATIENCE_MS);
	s->waits_ended = true;
	return 0;
}

static int ends_a_queue(void *arg)
{
	uint64_t arms = card_counter("arms");
	struct starving *s = arg;
	pid_t waiter;

	MUST(!setresuid(NOBODY, 0, 0) && stay_on(0));
	MUST(!client_open(&s->c) && !queue_open(s->c.fd, &s->idle, NULL));
	waiter = child_start(waits_until_lost, s);
	MUST(card_counter_reaches("arms", arms + 1) > arms);
	s->ret = queue_destroy(s->c.fd, s->c.q.id);
	queue_unmap(&s->idle);
	client_close(&s->c);
	return child_end(waiter);
}

bool starving_start(struct starving *s, int ms)
{
	s->state = HAS_PROCESSOR;
	s->waits_ended = false;
	s->ms = ms;
	s->other = child_start(takes_processor_0, s);
	s->pid = child_start(ends_a_queue, s);
	if (!proc_gets_into(s->pid, "vta_ioctl_queue_destroy"))
		return false;
	s->state = TO_LOSE_IT;
	return SOON(s->state == HAS_NONE) && proc_is_in(s->pid, "vta_ioctl_queue_destroy");
}

bool starving_continues(const struct starving *s)
{
	return s->state == HAS_NONE;
}

bool starving_end(struct starving *s)
{
	s->state = ENDS;
	return !child_end(s->other) && !child_end(s->pid);
}
