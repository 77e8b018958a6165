// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "state.h"

static void keep(struct fuzz_file *f, uint32_t handle, uint64_t addr, uint64_t size,
		 uint64_t offset)
{
	f->bufs[f->nr_bufs % BUFS] = (struct fuzz_buf) {
		.handle = handle, .addr = (uint32_t)addr, .size = size, .offset = offset,
	};
	if (f->nr_bufs < BUFS)
		f->nr_bufs++;
}

static uint64_t an_address(const struct op *op, uint32_t flags)
{
	if (!(flags & VTA_BUF_FIXED))
		return op->c & 8 ? op->e : 0;
	return op->c & 8 ? op->e : (op->e & 0xfffff) << 12;
}

static uint64_t an_alignment(const struct op *op)
{
	return op->d & 0x80 ? op->e >> 32 : op->d & 0x40 ? 1ull << (op->d & 0x3f) : 0;
}

void op_alloc(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_buf_alloc req = {
		.size = the_size(op->b, op->e),
		.flags = op->c & 7,
		.align = an_alignment(op),
		.addr = an_address(op, op->c & 7),
	};

	if (!call(s, op, f->fd, VTA_IOCTL_BUF_ALLOC, &req))
		keep(f, req.handle, req.addr, req.size, req.mmap_offset);
}

void op_free(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_buf_free req = { .handle = the_buf(f, op)->handle };

	call(s, op, f->fd, VTA_IOCTL_BUF_FREE, &req);
}

void op_pin(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	uintptr_t from = (uintptr_t)s->memory;
	uint64_t size = the_size(op->b, op->e);

	/* Also the driver's own memory. */
	if (op->d & 0x100 && s->maps[op->d % MAPS].ptr)
		from = s->maps[op->d % MAPS].ptr;

	struct vta_buf_pin req = {
		.user_addr = op->d & 0x200 ? op->e : from + (op->d >> 12 & 0xffff),
		.size = size,
		.align = an_alignment(op),
		.addr = an_address(op, op->c & 7),
		.flags = op->c & 7,
	};

	if (!call(s, op, f->fd, VTA_IOCTL_BUF_PIN, &req))
		keep(f, req.handle, req.addr, req.size, 0);
}

void op_export(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_buf_export req = {
		.handle = the_buf(f, op)->handle,
		.flags = op->d & 1 ? op->d : O_RDWR | O_CLOEXEC,
	};

	if (!call(s, op, f->fd, VTA_IOCTL_BUF_EXPORT, &req))
		keep_fd(s, req.fd);
}

void op_import(struct state *s, const struct op *op)
{
	struct fuzz_file *f = the_file(s, op);
	struct vta_buf_import req = {
		.fd = the_fd(s, op->b),
		.flags = op->c & 7,
		.align = an_alignment(op),
		.addr = an_address(op, op->c & 7),
	};

	if (!call(s, op, f->fd, VTA_IOCTL_BUF_IMPORT, &req))
		keep(f, req.handle, req.addr, req.size, 0);
}

/* Ordinary operations on a dma-buf. */
void op_dmabuf(struct state *s, const struct op *op)
{
	struct dma_buf_sync sync = { .flags = op->e & 0x7 };
	int fd = the_fd(s, op->b);
	size_t size = the_size(op->d & 0xff, op->e) & 0xffffff;
	void *ptr;

	switch (op->c % 6) {
	case 0:
		ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
		break;
	case 1:
		lseek(fd, (off_t)op->e, op->d & 1 ? SEEK_END : SEEK_SET);
		break;
	case 2:
		s->memory[0] = !ftruncate(fd, (off_t)size);
		break;
	case 3:
		close(fd);	/* stays in the table, and may become another */
		break;
	default:
		ptr = mmap(NULL, size, op->d & 0x100 ? PROT_READ : PROT_READ | PROT_WRITE,
			   op->d & 0x200 ? MAP_PRIVATE : MAP_SHARED, fd,
			   (off_t)(op->d >> 16 & 0xf) << 12);
		if (ptr != MAP_FAILED)
			keep_map(s, ptr, size);
		break;
	}
}
