// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "state.h"
#include "vta_selftest.h"

void op_open(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);

	if (f->fd >= 0)
		return;
	if (pool->breaks)
		card_bound();	/* the node may have another number by now */
	f->fd = card_open();
}

void op_close(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		struct fuzz_queue *q = &f->queues[i];

		if (q->ring)
			munmap(q->ring, sizeof(struct vta_desc) << q->made.ring_order);
		if (q->doorbell)
			munmap((void *)q->doorbell, 4096);
		q->ring = NULL;
		q->doorbell = NULL;
	}
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

void op_dup(struct state *s, const struct op *op)
{
	struct fuzz_file *from = the_file(s, op), *to = &s->files[op->b % FILES];

	if (from->fd < 0 || to->fd >= 0)
		return;
	*to = *from;
	memset(to->queues, 0, sizeof(to->queues));
	to->fd = dup(from->fd);
}

void op_info(struct state *s, const struct op *op)
{
	struct vta_info info;
	struct vta_lost lost;

	memset(&info, (int)op->e, sizeof(info));
	memset(&lost, (int)op->e, sizeof(lost));
	call(s, op, the_file(s, op)->fd, VTA_IOCTL_INFO, &info);
	call(s, op, the_file(s, op)->fd, VTA_IOCTL_LOST, &lost);
}

/* Any bytes for any call there may be. */
void op_raw(struct state *s, const struct op *op)
{
	uint64_t random = op->e | 1, words[16];
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(words); i++)
		words[i] = op->c & 1 ? random_next(&random) : op->e >> (op->c >> 2);
	ioctl(the_file(s, op)->fd,
	      _IOC(op->b >> 6, op->b & 0x20 ? op->d & 0xff : VTA_IOCTL_TYPE, op->b & 0x1f,
		   op->d >> 8 & 0x7f), words);
}

/* The driver's files. */
void op_read(struct state *s, const struct op *op)
{
	static const char *const names[] = {
		"mem_free", "contexts_used", "queues_used", "generation", "state", "queues",
		"host_bytes", "pinned_bytes", "page_table_bytes", "uevent", "counters/resets",
	};
	int fd = the_file(s, op)->fd;
	char path[128];

	if (op->b & 1)
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	else
		snprintf(path, sizeof(path), "/sys/class/vta/%s/%s",
			 card_name(), names[op->d % ARRAY_LEN(names)]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, s->memory, 4096) < 0)
		s->memory[0] = 0;
	close(fd);
}
