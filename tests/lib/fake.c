// SPDX-License-Identifier: GPL-2.0-only
/*
 * fake.c - answers ioctls as the driver does
 */
#include <errno.h>
#include <linux/dma-buf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"
#include "test.h"

/* Offsets in the memfd. */
#define RING_AT		0x000000u
#define RING_BYTES	0x400000u	/* 65,536 descriptors */
#define STATUS_AT	0x400000u
#define DOORBELL_AT	0x410000u
#define BUFFER_AT	0x420000u
#define BUFFER_BYTES	0x100000u
#define FAKE_BYTES	(BUFFER_AT + BUFFER_BYTES)
#define PAGE		0x10000u	/* a multiple of every CPU's */

#define QUEUE		7u
#define HANDLE		3u
#define BUFFER_ADDR	0x00200000u
#define PIN_ADDR	0x00600000u
#define IMPORT_HANDLE	5u
#define PIN_HANDLE	8u		/* and up, FAKE_PINS of them */
#define IMPORT_ADDR	0x00a00000u

struct fake fake;

int __wrap_ioctl(int fd, unsigned long request, void *arg);

static int buf_alloc(struct vta_buf_alloc *req)
{
	fake.alloc = *req;
	if (!req->size || req->size > BUFFER_BYTES)
		return -EINVAL;
	req->size = (req->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (!(req->flags & VTA_BUF_FIXED))
		req->addr = BUFFER_ADDR + fake.buffers * (uint64_t)fake.apart;
	req->mmap_offset = BUFFER_AT + fake.bad_offset;
	req->handle = HANDLE;
	fake.buffers++;
	return 0;
}

static int buf_pin(struct vta_buf_pin *req)
{
	uint64_t bytes = req->size;
	unsigned int slot = FAKE_PINS;

	fake.pin = *req;
	if (fake.fail_pin && !fake.pins)
		return -fake.fail_pin;
	if (fake.pins)
		fake.pins--;
	for (unsigned int i = 0; i < FAKE_PINS; i++) {
		bytes += fake.pinned[i];
		if (!fake.pinned[i])
			slot = i;
	}
	if (slot == FAKE_PINS || (fake.pin_limit && bytes > fake.pin_limit))
		return -ENOMEM;
	fake.pinned[slot] = req->size;
	req->addr = PIN_ADDR + req->user_addr % VTA_PAGE_SIZE;
	req->handle = PIN_HANDLE + slot;
	fake.buffers++;
	return 0;
}

static int buf_export(struct vta_buf_export *req)
{
	fake.export = *req;
	if (req->handle != HANDLE)
		return -EOPNOTSUPP;
	req->fd = memfd_create("dmabuf", MFD_CLOEXEC);
	if (req->fd < 0)
		return -errno;
	return ftruncate(req->fd, BUFFER_BYTES) ? -errno : 0;
}

static int buf_import(struct vta_buf_import *req)
{
	fake.import = *req;
	req->size = fake.import_size;
	req->flags |= fake.import_flags;
	req->addr = IMPORT_ADDR;
	req->handle = IMPORT_HANDLE;
	fake.buffers++;
	return 0;
}

static int export_fences(struct dma_buf_export_sync_file *req)
{
	if (!fake.sync_file)
		return -ENOTTY;
	fake.sync_file_of = req->flags;
	req->fd = dup(fake.sync_file);
	return req->fd < 0 ? -errno : 0;
}

static int buf_free(const struct vta_buf_free *req)
{
	unsigned int slot = req->handle - PIN_HANDLE;

	if (req->pad)
		return -EINVAL;
	if (slot < FAKE_PINS && fake.pinned[slot]) {
		fake.pinned[slot] = 0;
		if (fake.on_unpin)
			fake.on_unpin(&fake);
	} else if (req->handle != HANDLE && req->handle != IMPORT_HANDLE) {
		return -EINVAL;
	}
	fake.buffers--;
	return 0;
}

static int sync_dmabuf(const struct dma_buf_sync *req)
{
	assert_true(fake.nr_syncs < sizeof(fake.syncs) / sizeof(*fake.syncs));
	fake.syncs[fake.nr_syncs++] = req->flags;
	return -fake.fail_sync;
}

static int queue_create(struct vta_queue_create *req)
{
	fake.create = *req;
	if (req->priority > VTA_QUEUE_PRIORITY_MAX || req->flags & ~VTA_QUEUE_KEEP)
		return -EINVAL;
	req->queue = QUEUE;
	req->ring_offset = RING_AT + fake.bad_offset;
	req->status_offset = STATUS_AT + fake.bad_offset;
	req->doorbell_offset = DOORBELL_AT + fake.bad_offset;
	req->ring_addr = BUFFER_ADDR;
	req->doorbell_size = PAGE;
	memset(fake.status, 0, sizeof(*fake.status));
	*fake.doorbell = 0;
	fake_state(VTA_QUEUE_ACTIVE);
	fake.queues++;
	return 0;
}

static int queue_recover(struct vta_queue_recover *req)
{
	if (!fake.recover_seq)
		return -EBUSY;
	req->seq = fake.recover_seq;
	memset(&fake.fault, 0, sizeof(fake.fault));
	fake_complete(req->seq);
	fake_state(VTA_QUEUE_ACTIVE);
	return 0;
}

static int queue_destroy(const struct vta_queue_destroy *req)
{
	if (req->queue != QUEUE || req->pad)
		return -ENOENT;
	fake.queues--;
	return 0;
}

static int wait_for(struct vta_wait *req)
{
	fake.wait = *req;
	if (fake.on_wait)
		fake.on_wait(&fake);
	return -fake.wait_errno;
}

static int wait_many(struct vta_wait_many *req)
{
	const struct vta_fence *fences = (const void *)(uintptr_t)req->fences;

	fake.many = *req;
	for (unsigned int i = 0; i < req->count && i < 8; i++)
		fake.fences[i] = fences[i];
	if (fake.on_wait)
		fake.on_wait(&fake);
	req->index = fake.index;
	return -fake.wait_errno;
}

static int answer(unsigned long request, void *arg)
{
	if (request == VTA_IOCTL_INFO) {
		*(struct vta_info *)arg = fake.info;
		return 0;
	}
	if (request == VTA_IOCTL_LOST) {
		*(struct vta_lost *)arg = fake.lost;
		return 0;
	}
	if (fake.fail)
		return -fake.fail;
	switch (request) {
	case VTA_IOCTL_BUF_ALLOC:
		return buf_alloc(arg);
	case VTA_IOCTL_BUF_PIN:
		return buf_pin(arg);
	case VTA_IOCTL_BUF_EXPORT:
		return buf_export(arg);
	case VTA_IOCTL_BUF_IMPORT:
		return buf_import(arg);
	case DMA_BUF_IOCTL_SYNC:
		return sync_dmabuf(arg);
	case DMA_BUF_IOCTL_EXPORT_SYNC_FILE:
		return export_fences(arg);
	case VTA_IOCTL_BUF_FREE:
		return buf_free(arg);
	case VTA_IOCTL_QUEUE_CREATE:
		return queue_create(arg);
	case VTA_IOCTL_QUEUE_DESTROY:
		return queue_destroy(arg);
	case VTA_IOCTL_QUEUE_RECOVER:
		return queue_recover(arg);
	case VTA_IOCTL_WAIT:
		return wait_for(arg);
	case VTA_IOCTL_WAIT_MANY:
		return wait_many(arg);
	case VTA_IOCTL_QUEUE_EVENT:
		fake.event = *(const struct vta_queue_event *)arg;
		return 0;
	case VTA_IOCTL_FAULT:
		*(struct vta_queue_fault *)arg = fake.fault;
		return 0;
	default:
		return -ENOTTY;
	}
}

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	int err;

	assert_true(fd >= 0);
	fake.calls++;
	err = -EINTR;
	if (fake.interrupts)
		fake.interrupts--;
	else
		err = answer(request, arg);
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

static void *map_at(size_t offset, size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fake.fd, (off_t)offset);

	assert_ptr_not_equal(ptr, MAP_FAILED);
	return ptr;
}

int fake_setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.fd = memfd_create("vta", MFD_CLOEXEC);
	assert_true(fake.fd >= 0);
	assert_int_equal(ftruncate(fake.fd, FAKE_BYTES), 0);
	snprintf(fake.path, sizeof(fake.path), "/proc/self/fd/%d", fake.fd);
	fake.ring = map_at(RING_AT, RING_BYTES);
	fake.status = map_at(STATUS_AT, PAGE);
	fake.doorbell = map_at(DOORBELL_AT, PAGE);
	fake.memory = map_at(BUFFER_AT, BUFFER_BYTES);
	fake.info = (struct vta_info){
		.contract = 0x00010000,
		.abi = VTA_ABI_VERSION,
		.features = 1,
		.mem_size = 64 << 20,
		.mem_free = 63 << 20,
		.serial = 0x1234,
		.queues = 64,
		.contexts = 16,
		.ring_order_max = 16,
		.clock_khz = 100000,
		.vectors = 65,
		.hw_ver = 0x000102,
		.log_inp_width = 3,
		.log_wgt_width = 3,
		.log_acc_width = 5,
		.log_batch = 0,
		.log_block = 4,
		.log_uop_buff_size = 15,
		.log_inp_buff_size = 15,
		.log_wgt_buff_size = 18,
		.log_acc_buff_size = 17,
		.log_waiting = 9,
		.save_size = 0x71000,
	};
	return 0;
}

int fake_teardown(void **state)
{
	(void)state;
	munmap(fake.ring, RING_BYTES);
	munmap(fake.status, PAGE);
	munmap(fake.doorbell, PAGE);
	munmap(fake.memory, BUFFER_BYTES);
	close(fake.fd);
	return fake.buffers || fake.queues;	/* a leak fails the test */
}

struct vtadev *fake_open(void)
{
	struct vtadev *dev = NULL;

	assert_int_equal(vtadev_open(fake.path, &dev), 0);
	assert_non_null(dev);
	return dev;
}

struct vtadev_queue *fake_queue(struct vtadev *dev, uint32_t entries)
{
	struct vtadev_queue_opts opts = { .ring_entries = entries, .spin_ns = -1 };
	struct vtadev_queue *queue = NULL;

	assert_int_equal(vtadev_queue_create(dev, &opts, &queue), 0);
	assert_non_null(queue);
	return queue;
}

void fake_complete(uint64_t seq)
{
	__atomic_store_n(&fake.status->status.seq, htole64(seq), __ATOMIC_RELEASE);
}

void fake_state(enum vta_queue_state state)
{
	__atomic_store_n(&fake.status->status.state, htole32((uint32_t)state),
			 __ATOMIC_RELEASE);
}
