// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker.c - a user of a card, for what vtactl is to see of it
 *
 *	worker CARD hold		3 RUNs, 5 COPYs, 2 NOPs, 1 MiB of the card; until stdin ends
 *	worker CARD busy		COPYs and RUNs without a pause, until stdin ends
 *	worker CARD fault N		N faults, one after the other
 *	worker CARD recovered		2 RUNs, a fault, 1 COPY; until stdin ends
 *
 * Prints "ready" when there is something to see.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vtadev.h"

#define SIZE	((size_t)1 << 20)
#define WAIT_NS	(60 * 1000000000ll)

static struct vtadev *dev;
static struct vtadev_queue *queue;
static struct vtadev_buf *host, *card;

static int check(const char *what, int err)
{
	if (err < 0) {
		fprintf(stderr, "worker: %s: %s\n", what, vtadev_strerror(err));
		exit(1);
	}
	return err;
}

static int do_it(struct vta_desc desc)
{
	uint64_t seq;

	check("submit", vtadev_submit(queue, &desc, 1, &seq));
	return vtadev_wait(queue, seq, WAIT_NS);
}

/* One instruction: FINISH. */
static struct vta_desc run(void)
{
	static const uint64_t finish[2] = { 3, 0 };

	check("write", vtadev_buf_write(host, 0, finish, sizeof(finish)));
	return vtadev_desc_run(vtadev_buf_addr(host), 1, 0);
}

static struct vta_desc copy(uint32_t size)
{
	return vtadev_desc_copy(vtadev_buf_addr(card), vtadev_buf_addr(host), size);
}

static int stdin_ended(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, 0) != 0;
}

static void wait_for_stdin(void)
{
	char c;

	puts("ready");
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static void hold(void)
{
	for (int i = 0; i < 3; i++)
		check("RUN", do_it(run()));
	for (int i = 0; i < 5; i++)
		check("COPY", do_it(copy(4096)));
	for (int i = 0; i < 2; i++)
		check("NOP", do_it(vtadev_desc_nop()));
	wait_for_stdin();
}

static void busy(void)
{
	puts("ready");
	while (!stdin_ended()) {
		check("COPY", do_it(copy(SIZE)));
		check("RUN", do_it(run()));
	}
}

static void make_faults(int times)
{
	while (times--) {
		if (do_it(vtadev_desc_run(0x10, 1, 0)) != -EIO)
			check("a mistake that was none", -EPROTO);
		check("recover", vtadev_recover(queue));
	}
}

static void recovered(void)
{
	for (int i = 0; i < 2; i++)
		check("RUN", do_it(run()));
	make_faults(1);
	check("COPY", do_it(copy(4096)));
	wait_for_stdin();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	setlinebuf(stdout);
	check("open", vtadev_open(argv[1], &dev));
	check("queue", vtadev_queue_create(dev, NULL, &queue));
	check("host", vtadev_buf_alloc(dev, SIZE, VTADEV_HOST, &host));
	check("card", vtadev_buf_alloc(dev, SIZE, VTADEV_CARD, &card));
	if (!strcmp(argv[2], "hold"))
		hold();
	else if (!strcmp(argv[2], "busy"))
		busy();
	else if (!strcmp(argv[2], "fault") && argc == 4)
		make_faults(atoi(argv[3]));
	else if (!strcmp(argv[2], "recovered"))
		recovered();
	else
		return 2;
	return 0;
}
