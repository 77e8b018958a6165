// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <sys/mman.h>

#include "state.h"
#include "vta_selftest.h"

void op_create(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_queue_create req = {
		.flags = op->c & 0x10 ? op->c & 3 : op->c & VTA_QUEUE_KEEP,
		.ring_order = op->b & 0x80 ? op->b & 0x3f : op->b & 7,
		.priority = op->d & 0x80 ? op->d & 7 : op->d & 3,
		.max_cycles = op->e,
	};
	struct fuzz_queue *q;

	/* A mapping of a queue that is forgotten would never be undone. */
	if (f->nr_queues >= QUEUES)
		return;
	if (call(s, op, f->fd, VTA_IOCTL_QUEUE_CREATE, &req))
		return;
	q = &f->queues[f->nr_queues++ % QUEUES];
	memset(q, 0, sizeof(*q));
	q->made = req;
}

void op_destroy(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_queue_destroy req = { .queue = the_queue(f, op)->made.queue };

	call(s, op, f->fd, VTA_IOCTL_QUEUE_DESTROY, &req);
}

static void *map(const struct fuzz_file *f, size_t size, uint64_t offset)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, (off_t)offset);

	return ptr == MAP_FAILED ? NULL : ptr;
}

/* For good as long as the file is open: what has been submitted goes through it. */
static bool ready(const struct fuzz_file *f, struct fuzz_queue *q)
{
	if (!q->made.queue || q->made.ring_order > 16)
		return false;
	if (!q->ring)
		q->ring = map(f, sizeof(struct vta_desc) << q->made.ring_order,
			      q->made.ring_offset);
	if (!q->doorbell)
		q->doorbell = map(f, 4096, q->made.doorbell_offset);
	return q->ring && q->doorbell;
}

/* Well-formed for most values, with addresses that are mostly there. */
static struct vta_desc a_desc(struct fuzz_file *f, const struct op *op, uint32_t n)
{
	const struct fuzz_buf *from = &f->bufs[(op->d + n) % BUFS];
	const struct fuzz_buf *to = &f->bufs[(op->d >> 4) % BUFS];
	uint32_t len = op->e & 0x8000 ? (uint32_t)op->e : (uint32_t)op->e & 0xfff;
	struct vta_desc desc;

	switch ((op->d >> 8) % 8) {
	case 0:
		return desc_op(VTA_OP_NOP);
	case 1:
		desc = desc_run(from->addr, (uint32_t)(op->e % 64) + 1, op->e >> 48);
		if (op->e & 0x100)
			desc.op_flags |= htole32(VTA_DESC_KEEP);
		return desc;
	case 2:
		return desc_copy(to->addr, from->addr, len);
	case 3:
		return desc_copy2d(to->addr, op->e >> 16 & 0xffff, from->addr,
				   op->e >> 32 & 0xffff, op->e >> 48 & 0xff, len & 0xff);
	case 4:
		return desc_fill(to->addr, (uint32_t)op->e, len);
	case 5:
		return desc_signal(to->addr + (op->e & 0xf8), op->e);
	case 6:
		return desc_stamp(desc_wait(from->addr & ~7u, op->e & 1), to->addr & ~7u);
	default:
		memset(&desc, (int)op->e, sizeof(desc));
		desc.op_flags = htole32(op->d >> 16);
		return desc;
	}
}

struct submission {
	struct fuzz_file *f;
	struct fuzz_queue *q;
	const struct op *op;
};

static void submit(void *arg)
{
	const struct submission *sub = arg;
	struct fuzz_queue *q = sub->q;
	uint32_t mask = (1u << q->made.ring_order) - 1, n = 1 + (sub->op->d >> 28) % 4, i;

	for (i = 0; i < n; i++)
		q->ring[q->submitted++ & mask] = a_desc(sub->f, sub->op, i);
	__sync_synchronize();
	*q->doorbell = htole32(q->submitted);
}

void op_submit(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct submission sub = { .f = f, .q = the_queue(f, op), .op = op };

	if (ready(f, sub.q))
		daring(submit, &sub);
}

static void ring(void *arg)
{
	const struct submission *sub = arg;

	*sub->q->doorbell = sub->op->c & 1 ? sub->op->d : sub->q->submitted + sub->op->d % 8;
}

/* Writes a doorbell: any number, or up to 7 descriptors that were not written. */
void op_ring(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct submission sub = { .f = f, .q = the_queue(f, op), .op = op };

	if (ready(f, sub.q))
		daring(ring, &sub);
}

void op_recover(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct fuzz_queue *q = the_queue(f, op);
	struct vta_queue_recover req = { .queue = q->made.queue };

	if (!call(s, op, f->fd, VTA_IOCTL_QUEUE_RECOVER, &req))
		q->submitted = (uint32_t)req.seq;
}

void op_fault(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_queue_fault req = { .queue = the_queue(f, op)->made.queue };

	call(s, op, f->fd, VTA_IOCTL_FAULT, &req);
}
