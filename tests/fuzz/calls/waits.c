// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "state.h"
#include "vta_selftest.h"

static int64_t a_deadline(const struct op *op)
{
	switch (op->c >> 2 & 7) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		/* Until a signal comes, which only one thread gets. */
		return on_main_thread() && !(op->d >> 28) ? VTA_WAIT_FOREVER : 1;
	default:
		return now_ns() + (op->c >> 2 & 3) * 300000;
	}
}

static uint64_t a_seq(const struct fuzz_queue *q, const struct op *op)
{
	return op->d & 0x80 ? op->e : q->submitted + (op->d & 1) - (op->d >> 1 & 1);
}

void op_wait(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	const struct fuzz_queue *q = the_queue(f, op);
	struct vta_wait req = {
		.queue = q->made.queue,
		.flags = op->c & 3,
		.seq = a_seq(q, op),
		.deadline_ns = a_deadline(op),
	};

	if (!(op->c & 2))
		req.flags &= VTA_WAIT_POLL;
	call(s, op, f->fd, VTA_IOCTL_WAIT, &req);
}

void op_wait_many(struct state *s, const struct op *op)
{
	struct vta_fence *fences = (struct vta_fence *)s->memory;
	uint32_t count = op->d & 0x100 ? op->d >> 16 : 1 + (op->d >> 16) % 8, i;

	for (i = 0; i < count && i < MEMORY_SIZE / sizeof(*fences); i++) {
		struct fuzz_file *f = &s->files[(op->a + i / 3) % FILES];
		const struct fuzz_queue *q = &f->queues[(op->b + i) % QUEUES];

		fences[i] = (struct vta_fence) {
			.fd = op->b == 0xff ? the_fd(s, i) : f->fd,
			.queue = q->made.queue,
			.seq = a_seq(q, op),
		};
	}

	struct vta_wait_many req = {
		.fences = op->d & 0x200 ? op->e : (uintptr_t)fences,
		.count = count,
		.flags = op->c & 3,
		.deadline_ns = a_deadline(op),
		.cancel_fd = op->c & VTA_WAIT_CANCEL ? the_fd(s, op->b) : 0,
	};

	call(s, op, the_file(s, op)->fd, VTA_IOCTL_WAIT_MANY, &req);
}

void op_event(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_queue_event req = {
		.queue = the_queue(f, op)->made.queue,
		.fd = op->c & 1 ? -1 : the_fd(s, op->d & 0xff),
	};

	call(s, op, f->fd, VTA_IOCTL_QUEUE_EVENT, &req);
}

void op_eventfd(struct state *s, const struct op *op)
{
	uint64_t one = 1;

	if (op->c & 1)
		keep_fd(s, eventfd(op->d & 1, EFD_CLOEXEC | EFD_NONBLOCK));
	else if (write(the_fd(s, op->b & 7), &one, sizeof(one)) < 0)
		s->memory[0] = 0;
}

void op_poll(struct state *s, const struct op *op)
{
	struct pollfd fds[FILES + 1];
	unsigned int i;

	for (i = 0; i < FILES; i++)
		fds[i] = (struct pollfd) { s->files[i].fd, (short)(op->d & 0x3f), 0 };
	fds[FILES] = (struct pollfd) { the_fd(s, op->b & 7), POLLIN, 0 };
	poll(fds, ARRAY_LEN(fds), op->c % 3);
}
