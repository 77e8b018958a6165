// SPDX-License-Identifier: Apache-2.0
/*
 * stream.c - a program's stream behind loads of the micro-ops it takes from before
 *
 * One stream, and not a run of its own for the loads: between two runs, the card
 * may run somebody else's.
 */
#include <errno.h>
#include <string.h>

#include "stream.h"

void staging_free(struct staging *s)
{
	vtadev_buf_free(s->buf);
	*s = (struct staging) { 0 };
}

static int staging_fit(struct staging *s, struct vtadev *dev, size_t size)
{
	struct vtadev_buf *buf;
	void *ptr;
	int err;

	if (s->buf && vtadev_buf_size(s->buf) >= size)
		return 0;
	err = vtadev_buf_alloc(dev, size, VTADEV_HOST | VTADEV_READONLY, &buf);
	if (err)
		return err;
	err = vtadev_buf_map(buf, &ptr);
	if (err) {
		vtadev_buf_free(buf);
		return err;
	}
	vtadev_buf_free(s->buf);
	s->buf = buf;
	s->ptr = ptr;
	return 0;
}

int stream_build(struct staging *s, struct vtadev *dev, const struct uops *u,
		 const struct insn *stream, uint32_t count, struct vta_desc *desc)
{
	size_t uop_bytes = ((size_t)u->count * sizeof(*u->before) + sizeof(*stream) - 1) /
			   sizeof(*stream) * sizeof(*stream);
	struct insn *insn;
	uint32_t loads;
	int err;

	if (count > UINT32_MAX - UOPS_RESTORE_MAX)
		return -EINVAL;
	err = staging_fit(s, dev, uop_bytes +
			  ((size_t)count + UOPS_RESTORE_MAX) * sizeof(*stream));
	if (err)
		return err;
	memcpy(s->ptr, u->before + u->first, u->count * sizeof(*u->before));
	insn = (struct insn *)((char *)s->ptr + uop_bytes);
	loads = uops_restore(u, vtadev_buf_addr(s->buf), insn);
	memcpy(insn + loads, stream, (size_t)count * sizeof(*stream));
	desc->run.insn_addr = htole32(vtadev_buf_addr(s->buf) + (uint32_t)uop_bytes);
	desc->run.insn_count = htole32(count + loads);
	return 0;
}
