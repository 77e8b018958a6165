// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guest memory: what the client maps is what the card reaches, and nothing else.
 */
#define _GNU_SOURCE	/* memfd_create */
#include <errno.h>
#include <linux/pci_regs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../frame.h"
#include "vfu_client.h"
#include "vfu_fake.h"

#define HUGE		0x80000000ull
#define HUGE_PAGE	0x200000u
#define RAM		0x40000000ull
#define RAM_SIZE	0x100000u
#define RW		(VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE)

static struct vfc *const c = &client;

static int setup(void **state)
{
	(void)state;
	fake_open(0, 1);
	return 0;
}

#define FAKE void *unused, setup, fake_close

static struct vfu_dma *dma(void)
{
	return vfu_get_dma(fake.srv);
}

static void open_ram(void)
{
	vfc_command(c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfc_ram(c, RAM, RAM_SIZE), 0);
}

TEST_F(FAKE, dma_access)
{
	uint8_t buf[10000], back[10000];
	uint64_t val;
	size_t i;

	open_ram();
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 7);
	assert_int_equal(vfu_dma_write(dma(), RAM + 123, buf, sizeof(buf)), 0);
	assert_memory_equal(vfc_ptr(c, RAM + 123, sizeof(buf)), buf,
			    sizeof(buf));
	assert_int_equal(vfu_dma_read(dma(), RAM + 123, back, sizeof(back)), 0);
	assert_memory_equal(back, buf, sizeof(buf));

	assert_int_equal(vfu_dma_write64(dma(), RAM + 8, 0x0807060504030201),
			 0);
	assert_memory_equal(vfc_ptr(c, RAM + 8, 8),
			    "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	assert_int_equal(vfu_dma_read64(dma(), RAM + 8, &val), 0);
	assert_true(val == 0x0807060504030201);
	assert_int_equal(vfu_dma_write64(dma(), RAM + 4, 1), -EINVAL);
	assert_int_equal(vfu_dma_faults(dma()), 0);
}

TEST_F(FAKE, dma_refused)
{
	uint64_t val = 7;
	uint8_t buf[32];

	open_ram();
	assert_int_equal(vfu_dma_read(dma(), RAM - 1, buf, 1), -EFAULT);
	assert_int_equal(vfu_dma_read(dma(), RAM + RAM_SIZE, buf, 1), -EFAULT);
	/* Half in, half out: nothing is written. */
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(vfu_dma_write(dma(), RAM + RAM_SIZE - 16, buf, 32),
			 -EFAULT);
	assert_int_equal(*(uint8_t *)vfc_ptr(c, RAM + RAM_SIZE - 16, 1), 0);
	assert_int_equal(vfu_dma_read(dma(), ~0ull - 7, buf, 32), -EFAULT);
	assert_int_equal(vfu_dma_read64(dma(), 0, &val), -EFAULT);
	assert_int_equal(val, 7);

	/* Read only, and known but not shared. */
	assert_int_equal(vfc_dma_map(c, 0x1000, 4096, VFIO_DMA_MAP_FLAG_READ,
				     c->ram_fd, 0), 0);
	assert_int_equal(vfc_dma_map(c, 0x2000, 4096, RW, -1, 0), 0);
	assert_int_equal(vfu_dma_read(dma(), 0x1000, buf, 16), 0);
	assert_int_equal(vfu_dma_write(dma(), 0x1000, buf, 16), -EACCES);
	assert_int_equal(vfu_dma_read(dma(), 0x2000, buf, 16), -EFAULT);
	assert_int_equal(vfu_dma_faults(dma()), 7);
}

TEST_F(FAKE, dma_gate)
{
	uint64_t val;

	open_ram();
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), 0);
	vfc_command(c, 0, PCI_COMMAND_MASTER);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), -EPERM);
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), 0);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D3HOT);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), -EPERM);
	vfc_cfg_write16(c, PCI_POS_PM + PCI_PM_CTRL, PCI_D0);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), 0);
	vfc_flr(c);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), -EPERM);
}

/* Pages of a file in any order, as a guest's IOMMU maps them. */
TEST_F(FAKE, dma_scattered)
{
	uint8_t buf[3 * 4096];
	size_t run = sizeof(buf);
	uint8_t *ptr;
	int i, err;

	open_ram();
	for (i = 0; i < 3; i++) {
		assert_int_equal(vfc_dma_map(c, 0x10000 + i * 0x1000ull, 4096,
					     RW, c->ram_fd,
					     (2 - i) * 0x1000ull), 0);
		memset(c->ram + i * 4096, 'a' + i, 4096);
	}
	assert_int_equal(vfu_dma_read(dma(), 0x10000, buf, sizeof(buf)), 0);
	assert_int_equal(buf[0], 'c');
	assert_int_equal(buf[4096], 'b');
	assert_int_equal(buf[3 * 4096 - 1], 'a');
	vfu_dma_begin(dma());
	ptr = vfu_dma_at(dma(), 0x10ff0, &run, VFU_DMA_READ, &err);
	assert_non_null(ptr);
	assert_int_equal(run, 16);
	assert_int_equal(*ptr, 'c');
	assert_null(vfu_dma_at(dma(), 0x13000, &run, VFU_DMA_READ, &err));
	assert_int_equal(err, -EFAULT);
	vfu_dma_end(dma());

	/* One unmap over all of them, and holes besides. */
	assert_int_equal(vfc_dma_unmap(c, 0x8000, 0x10000, 0), 0);
	assert_int_equal(vfu_dma_count(dma()), 1);
	assert_int_equal(vfu_dma_read(dma(), 0x11000, buf, 1), -EFAULT);
}

TEST_F(FAKE, dma_map_refused)
{
	static const struct {
		uint64_t iova, size, offset;
		int want;
	} t[] = {
		{ RAM, 4096, 0, -EEXIST },
		{ RAM + RAM_SIZE - 4096, 4096, 0, -EEXIST },
		{ RAM - 4096, 8192, 0, -EEXIST },
		{ RAM + 4096, 4096, 0, -EEXIST },
		{ RAM - 4096, RAM_SIZE, 0, -EEXIST },
		{ 0, 0, 0, -EINVAL },
		{ 0, 100, 0, -EINVAL },
		{ 100, 4096, 0, -EINVAL },
		{ 0, 4096, 8, -EINVAL },
		{ ~0xfffull, 8192, 0, -EINVAL },
		{ 0x1000, ~0xfffull, 0, -EEXIST },
		{ 0, RAM_SIZE + 4096, 0, -EINVAL },
		{ 0, 4096, RAM_SIZE, -EINVAL },
		{ 0, 4096, ~0xfffull, -EINVAL },
		{ 0, 8192, ~0xfffull, -EINVAL },
		{ RAM - 4096, 4096, 0, 0 },
		{ RAM + RAM_SIZE, 4096, RAM_SIZE - 4096, 0 },
		{ ~0xfffull, 4096, 0, 0 },
	};
	size_t i;

	open_ram();
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		int ret = vfc_dma_map(c, t[i].iova, t[i].size, RW, c->ram_fd,
				      t[i].offset);

		if (ret != t[i].want)
			fail_msg("map %zu: %d, want %d", i, ret, t[i].want);
	}
	assert_int_equal(vfu_dma_count(dma()), 4);
}

TEST_F(FAKE, dma_unmap)
{
	/* Unmapping a range that was never mapped succeeds. */
	assert_int_equal(vfc_dma_unmap(c, 0x5000, 0x1000, 0), 0);
	assert_int_equal(vfc_dma_unmap(c, 0, 0, VFIO_DMA_UNMAP_FLAG_ALL), 0);
	open_ram();
	/* Bounds within a range would leave half of it. */
	assert_int_equal(vfc_dma_unmap(c, RAM, 4096, 0), -EINVAL);
	assert_int_equal(vfc_dma_unmap(c, RAM + 4096, RAM_SIZE, 0), -EINVAL);
	assert_int_equal(vfc_dma_unmap(c, RAM, ~0ull - 1, 0), -EINVAL);
	assert_int_equal(vfu_dma_count(dma()), 1);
	assert_int_equal(vfc_dma_unmap(c, RAM, RAM_SIZE, 0), 0);
	assert_int_equal(vfu_dma_count(dma()), 0);
	assert_int_equal(vfc_dma_map(c, RAM, RAM_SIZE, RW, c->ram_fd, 0), 0);
	assert_int_equal(vfc_dma_unmap(c, 0, 0, VFIO_DMA_UNMAP_FLAG_ALL), 0);
	assert_int_equal(vfu_dma_count(dma()), 0);
}

struct engine {
	pthread_t thread;
	atomic_bool stop;
	atomic_ulong done;
	atomic_ulong refused;
};

static void *engine_main(void *arg)
{
	struct engine *e = arg;
	uint64_t n = 0;

	while (!atomic_load(&e->stop)) {
		if (vfu_dma_write64(dma(), RAM, ++n))
			atomic_fetch_add(&e->refused, 1);
		else
			atomic_fetch_add(&e->done, 1);
		/* With fewer processors than threads, the others are waited for. */
		sched_yield();
	}
	return NULL;
}

/* Returns when each engine has begun and ended an access that was refused. */
static void wait_refused(struct engine e[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		unsigned long seen = atomic_load(&e[i].refused);

		/* The next may have begun before the caller checked. */
		while (atomic_load(&e[i].refused) < seen + 2)
			sched_yield();
	}
}

/* When an unmap is answered, no store through the old mapping follows. */
TEST_F(FAKE, dma_unmap_is_a_fence)
{
	struct engine e[2] = { 0 };
	uint64_t *word;
	int i;

	open_ram();
	word = vfc_ptr(c, RAM, 8);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&e[i].thread, NULL, engine_main,
						&e[i]), 0);
	for (i = 0; i < 200; i++) {
		assert_int_equal(vfc_dma_unmap(c, RAM, RAM_SIZE, 0), 0);
		__atomic_store_n(word, ~0ull, __ATOMIC_SEQ_CST);
		wait_refused(e);
		assert_true(__atomic_load_n(word, __ATOMIC_SEQ_CST) == ~0ull);
		assert_int_equal(vfc_dma_map(c, RAM, RAM_SIZE, RW, c->ram_fd,
					     0), 0);
		/* The same for the gate. */
		vfc_command(c, 0, PCI_COMMAND_MASTER);
		__atomic_store_n(word, ~0ull, __ATOMIC_SEQ_CST);
		wait_refused(e);
		assert_true(__atomic_load_n(word, __ATOMIC_SEQ_CST) == ~0ull);
		vfc_command(c, PCI_COMMAND_MASTER, 0);
	}
	for (i = 0; i < 2; i++) {
		/* On a busy machine a thread may not have run while there was a mapping. */
		while (!atomic_load(&e[i].done))
			sched_yield();
		atomic_store(&e[i].stop, true);
		pthread_join(e[i].thread, NULL);
		assert_true(e[i].done && e[i].refused);
	}
	assert_int_equal(vfu_dma_faults(dma()), e[0].refused + e[1].refused);
}

/* Mappings of this process, which has the server, of the file. */
static unsigned int mappings(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	char line[256];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, name) ? 1 : 0;
	fclose(maps);
	return n;
}

/* cmocka handles signals while a test runs; a new map takes SIGBUS back. */
static void take_sigbus(void)
{
	vfu_dma_free(vfu_dma_new());
}

/* A page that the file does not have any more is a fault, and so are all of its range. */
TEST_F(FAKE, dma_file_shrinks)
{
	int fd = memfd_create("shrinks", MFD_CLOEXEC), err;
	uint64_t faults, val = 7;
	size_t len = 8;
	uint8_t buf[16];
	uint64_t *ptr;

	take_sigbus();
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(vfc_dma_map(c, RAM, 8192, RW, fd, 0), 0);
	assert_int_equal(vfu_dma_write64(dma(), RAM, 1), 0);
	faults = vfu_dma_faults(dma());
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(vfu_dma_read(dma(), RAM, buf, sizeof(buf)), 0);
	assert_int_equal(vfu_dma_read(dma(), RAM + 4096, buf, sizeof(buf)), -EFAULT);
	assert_int_equal(vfu_dma_faults(dma()), faults + 1);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), -EFAULT);
	assert_int_equal(vfu_dma_write(dma(), RAM, buf, sizeof(buf)), -EFAULT);

	/* Mapped anew it is memory again. */
	assert_int_equal(vfc_dma_unmap(c, RAM, 8192, 0), 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(vfc_dma_map(c, RAM, 8192, RW, fd, 0), 0);
	assert_int_equal(vfu_dma_read64(dma(), RAM, &val), 0);
	assert_int_equal(val, 1);

	/* The same by a pointer, and by single words. */
	assert_int_equal(ftruncate(fd, 0), 0);
	vfu_dma_begin(dma());
	ptr = vfu_dma_at(dma(), RAM, &len, VFU_DMA_WRITE, &err);
	assert_non_null(ptr);
	__atomic_store_n(ptr, 2, __ATOMIC_RELAXED);
	assert_int_equal(vfu_dma_end(dma()), -EFAULT);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(vfc_dma_unmap(c, RAM, 8192, 0), 0);
	assert_int_equal(vfc_dma_map(c, RAM, 8192, RW, fd, 0), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(vfu_dma_write64(dma(), RAM, 1), -EFAULT);
	close(fd);
}

/* Parts of huge pages, anywhere in them, are mapped; nothing of them stays mapped. */
TEST_F(FAKE, dma_huge_pages)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	uint64_t val;

	if (fd < 0)
		skip();
	take_sigbus();
	vfc_command(c, PCI_COMMAND_MASTER, 0);
	assert_int_equal(ftruncate(fd, 2 * HUGE_PAGE), 0);
	assert_int_equal(vfc_dma_map(c, HUGE, 4096, RW, fd, 0), 0);
	assert_int_equal(vfc_dma_map(c, HUGE + 4096, HUGE_PAGE, RW, fd, 0xc0000), 0);
	assert_int_equal(vfc_dma_map(c, HUGE + 2 * HUGE_PAGE, 4096, RW, fd,
				     2 * HUGE_PAGE - 4096), 0);
	assert_int_equal(vfc_dma_map(c, HUGE + 4 * HUGE_PAGE, 4096, RW, fd,
				     2 * HUGE_PAGE), -EINVAL);
	assert_true(mappings("memfd:huge"));
	/* On a machine without such pages this is a fault. */
	if (!vfu_dma_write64(dma(), HUGE + 4096, 0x1234)) {
		assert_int_equal(vfc_dma_unmap(c, HUGE, 4096, 0), 0);
		assert_int_equal(vfc_dma_map(c, HUGE, 4096, RW, fd, 0xc0000), 0);
		assert_int_equal(vfu_dma_read64(dma(), HUGE, &val), 0);
		assert_int_equal(val, 0x1234);
	}
	assert_int_equal(vfc_dma_unmap(c, 0, 0, VFIO_DMA_UNMAP_FLAG_ALL), 0);
	assert_int_equal(mappings("memfd:huge"), 0);
	close(fd);
}
