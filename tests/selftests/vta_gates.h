/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_gates.h - queues that are held until a test releases them, and eventfds that signal it
 */
#ifndef VTA_GATES_H
#define VTA_GATES_H

#include "vta_selftest.h"

enum { QUEUES = 4 };

struct gates {
	int fd;
	struct queue q[QUEUES];
	struct mem mem;
	volatile uint64_t *words;	/* one for each queue's gates */
	int event;
};

/* An open card with queues, and an eventfd that no queue has yet. */
int gates_open(struct gates *g);
void gates_close(struct gates *g);

/* A descriptor of queue @i that ends when its word is @value. */
uint64_t gate(struct gates *g, unsigned int i, uint64_t value);
void gate_all(struct gates *g);		/* each queue's first, at 1 */
void open_gate(struct gates *g, unsigned int i, uint64_t value);

/* Have an eventfd signalled for a queue; arm that, or poll(), for a number. */
int queue_event(const struct queue *q, int event);
int queue_poll(const struct queue *q, uint64_t seq);

/* Take an eventfd's count; wait until it is signalled, and take it; add to it. */
uint64_t event_take(int event);
uint64_t event_next(int event);
void event_add(int event);

/*
 * Each write to the eventfd goes through 100 times as many entries of epoll. signalled() returns
 * its count, if it is never taken, and waits for a write that is under way.
 */
int listen_often(int event, unsigned int listeners);
unsigned int signalled(int event);

#endif /* VTA_GATES_H */
