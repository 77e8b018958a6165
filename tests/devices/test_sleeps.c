// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_sleeps.c - how often threads of a device in the process sleep: they look for work before
 *
 * On the device "soft". Times are those that a thread waits for a condition, each a system call.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "../frame.h"
#include "rig.h"
#include "vta_desc.h"

#define INSN_WORDS	4
#define FINISH		3u
#define STREAMS		20u
/* On a busy host a thread that looks may not run: then many rounds are necessary. */
#define ROUNDS_MAX	100000u

static atomic_uint slept, awoken;	/* waits that have begun, and ended */

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	int ret;

	atomic_fetch_add(&slept, 1);
	ret = __real_pthread_cond_wait(cond, lock);
	atomic_fetch_add(&awoken, 1);
	return ret;
}

/* Times that threads slept while streams ran, each submitted when the one before it had ended. */
static unsigned int sleeps_of(struct vta_desc desc)
{
	unsigned int before = atomic_load(&slept);

	for (unsigned int i = 0; i < STREAMS; i++)
		assert_int_equal(vtadev_wait(q, submit(q, desc), FOREVER), 0);
	return atomic_load(&slept) - before;
}

TEST_F(RIG, a_thread_looks_for_the_next_stream)
{
	const uint32_t insn[INSN_WORDS] = { FINISH };
	struct vtadev_buf *code;
	unsigned int rounds = 0;
	struct vta_desc desc;
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	if (CPU_COUNT(&set) < 2)
		skip();
	code = buffer(PAGE, VTADEV_HOST);
	desc = vtadev_desc_run(vtadev_buf_addr(code), 1, 0);
	assert_int_equal(vtadev_buf_write(code, 0, insn, sizeof(insn)), 0);
	while (sleeps_of(desc) > STREAMS / 2)
		assert_true(++rounds < ROUNDS_MAX);
	vtadev_buf_free(code);
}

/* An idle device has no thread that looks: those of all units sleep in the end. */
TEST_F(RIG, all_threads_sleep_in_the_end)
{
	for (unsigned int i = 0; i < STREAMS; i++)
		works(vtadev_desc_nop());
	while (atomic_load(&slept) - atomic_load(&awoken) < VTA_UNITS)
		sched_yield();
}
