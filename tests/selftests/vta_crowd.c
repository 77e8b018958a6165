// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_crowd - a user with hundreds of files to be signalled (kmod/vta_event.c)
 *
 * On three cards at least, each with 256 queues.
 */
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "vta_gates.h"
#include "vta_harness.h"

/* Three quarters of a card's queues and contexts are a user's. */
enum { CARDS = 3, FILES = 190, CROWD = CARDS * FILES, LISTENERS = 150 };

struct crowd {
	int slow;
	volatile unsigned int *given;	/* files that the eventfd has been given to */
};

/* A queue that has halted signals each new eventfd at once. */
static int join(unsigned int n, struct queue *q)
{
	int fd, err;

	card_select(n);
	fd = card_open();
	if (fd < 0)
		return fd;
	err = queue_open(fd, q, NULL);
	return err ? err : queue_do(q, desc_fill(0, 0, 4));
}

static int crowd_all(const struct crowd *crowd)
{
	static struct queue queues[CROWD];

	if (setresuid(1000, 1000, 1000))
		return 1;
	for (unsigned int i = 0; i < CROWD; i++)
		if (join(i / FILES, &queues[i]) != -EIO)
			return 2;	/* see the kernel's log, and limits of users */
	for (unsigned int i = 0; i < CROWD; i++, ++*crowd->given)
		if (queue_event(&queues[i], crowd->slow))
			return 3;
	return pause();
}

static int make_crowd(struct crowd *crowd)
{
	const struct rlimit files = { 4096, 4096 };

	crowd->slow = eventfd(0, EFD_NONBLOCK);
	crowd->given = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crowd->given == MAP_FAILED || setrlimit(RLIMIT_NOFILE, &files) ||
	    file_write(PARAMETERS "max_user_faults", "0"))
		return -errno;
	for (unsigned int i = CARDS; i-- > 0;) {
		card_select(i);
		if (chmod(card_node(), 0666))
			return -errno;
	}
	return listen_often(crowd->slow, LISTENERS);
}

TEST(many_slow_files_delay_no_other_user)
{
	struct crowd crowd;
	unsigned int before, after;
	struct gates g;
	pid_t pid;

	ASSERT_EQ(0, gates_open(&g));
	ASSERT_EQ(0, make_crowd(&crowd));
	ASSERT_EQ(0, queue_event(&g.q[0], g.event));
	gate(&g, 0, 1);
	ASSERT_EQ(-EAGAIN, queue_poll(&g.q[0], 1));
	pid = fork();
	if (!pid)
		_exit(crowd_all(&crowd));
	while (*crowd.given < CROWD) {
		int status = 0;

		ASSERT_EQ(0, waitpid(pid, &status, WNOHANG)) {
			TH_LOG("the crowd ended with %d, %u given", WEXITSTATUS(status),
			       *crowd.given);
		}
	}
	before = signalled(crowd.slow);
	open_gate(&g, 0, 1);
	EXPECT_LT(0, event_next(g.event));
	/* Were they first, nearly all would have been: the others are what a busy host takes. */
	after = signalled(crowd.slow);
	EXPECT_GT((before + CROWD) / 2, after) {
		TH_LOG("%u were signalled before, %u then", before, after);
	}
	EXPECT_EQ(0, child_kill(pid));
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_faults", "100"));
	gates_close(&g);
}

TEST_HARNESS_MAIN
