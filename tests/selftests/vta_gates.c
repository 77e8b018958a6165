// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vta_gates.h"

int gates_open(struct gates *g)
{
	int err;

	g->fd = card_open();
	if (g->fd < 0)
		return g->fd;
	for (unsigned int i = 0; i < QUEUES; i++) {
		err = queue_open(g->fd, &g->q[i], NULL);
		if (err)
			return err;
	}
	err = mem_alloc(g->fd, &g->mem, 4096, VTA_BUF_HOST, 0);
	if (err)
		return err;
	g->words = g->mem.ptr;
	g->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return g->event < 0 ? -errno : 0;
}

int queue_event(const struct queue *q, int event)
{
	struct vta_queue_event req = { .queue = q->id, .fd = event };

	return card_ioctl(q->fd, VTA_IOCTL_QUEUE_EVENT, &req);
}

int queue_poll(const struct queue *q, uint64_t seq)
{
	struct vta_wait req = { .queue = q->id, .flags = VTA_WAIT_POLL, .seq = seq };

	return card_ioctl(q->fd, VTA_IOCTL_WAIT, &req);
}

void gates_close(struct gates *g)
{
	close(g->event);
	close(g->fd);
}

uint64_t gate(struct gates *g, unsigned int i, uint64_t value)
{
	return queue_put(&g->q[i], desc_wait(g->mem.addr + 8 * i, value));
}

void gate_all(struct gates *g)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		gate(g, i, 1);
}

void open_gate(struct gates *g, unsigned int i, uint64_t value)
{
	g->words[i] = htole64(value);
	queue_kick(&g->q[i]);
}

void event_add(int event)
{
	uint64_t one = 1;

	if (write(event, &one, sizeof(one)) != sizeof(one))
		abort();
}

uint64_t event_take(int event)
{
	uint64_t count;

	return read(event, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

uint64_t event_next(int event)
{
	struct pollfd pfd = { .fd = event, .events = POLLIN };

	return poll(&pfd, 1, PATIENCE_MS) == 1 && pfd.revents == POLLIN ? event_take(event) : 0;
}

enum { LISTENED = 100 };

int listen_often(int event, unsigned int listeners)
{
	struct epoll_event in = { .events = EPOLLIN };
	int copies[LISTENED];

	for (unsigned int i = 0; i < LISTENED; i++)
		copies[i] = dup(event);
	for (unsigned int i = 0; i < listeners; i++) {
		int epoll = epoll_create1(EPOLL_CLOEXEC);

		for (unsigned int k = 0; k < LISTENED; k++)
			if (epoll_ctl(epoll, EPOLL_CTL_ADD, copies[k], &in))
				return -errno;
	}
	return 0;
}

unsigned int signalled(int event)
{
	unsigned int count = 0;
	char path[64], line[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", event);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "eventfd-count: %x", &count) != 1)
		;
	if (file)
		fclose(file);
	return count;
}
