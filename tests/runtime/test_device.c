// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_device.c - libvta_driver on tests/lib/fake.c: races with the card, and open files
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../frame.h"
#include "catch.h"
#include "fake.h"
#include "space.h"
#include "vta_insn.h"
#include "vta/driver.h"
#include "vta/driver_async.h"

#define RING_ORDER	2
#define ENTRIES		(1u << RING_ORDER)
#define MEM_BYTES	4096u
/* A quarter of a process's default limit, and the card twice. */
#define FILES		(256u + 8)

static bool quick;	/* the card completes all when its ring is full */

int __real_vtadev_submit(struct vtadev_queue *queue, const struct vta_desc *descs,
			 unsigned int n, uint64_t *seq);
int __wrap_vtadev_submit(struct vtadev_queue *queue, const struct vta_desc *descs,
			 unsigned int n, uint64_t *seq);

int __wrap_vtadev_submit(struct vtadev_queue *queue, const struct vta_desc *descs,
			 unsigned int n, uint64_t *seq)
{
	int err = __real_vtadev_submit(queue, descs, n, seq);

	if (quick && err == -EAGAIN)
		fake_complete(vtadev_submitted(queue));
	return err;
}

/* Complete all that a wait asks for. */
static void complete(struct fake *f)
{
	fake_complete(f->wait.seq);
}

static int setup(void **state)
{
	fake_setup(state);
	fake.info.ring_order_max = RING_ORDER;
	fake.on_wait = complete;
	quick = false;
	return setenv("VTADEV_DEVICE", fake.path, 1);
}

#define CARD void *unused, setup, fake_teardown

/* Submit @n runs. Returns how many the card's doorbell counts. */
static uint32_t runs(unsigned int n)
{
	VTADeviceHandle device = VTADeviceAlloc();
	struct insn *stream = VTAMemAlloc(MEM_BYTES, VTA_CACHED);
	uint32_t doorbell;

	assert_non_null(device);
	assert_non_null(stream);
	stream->word[0] = htole64(VTA_ISA_FINISH);
	assert_int_equal(VTADeviceSetAsync(device, 1), 0);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(VTADeviceRun(device, VTAMemGetPhyAddr(stream), 1, 0), 0);
	assert_int_equal(VTADeviceSync(device), 0);
	doorbell = le32toh(*fake.doorbell);
	VTAMemFree(stream);
	VTADeviceFree(device);
	return doorbell;
}

TEST_F(CARD, a_full_ring_is_waited_for)
{
	assert_int_equal(runs(3 * ENTRIES), 3 * ENTRIES);
}

/* The ring becomes empty between a submit that finds no room and the wait for some. */
TEST_F(CARD, a_full_ring_may_be_empty_at_once)
{
	quick = true;
	assert_int_equal(runs(3 * ENTRIES), 3 * ENTRIES);
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int reset(void)
{
	unsigned int generation;

	space_enter(&generation);
	space_leave();
	return space_recover(generation);
}

/* Memory that survives resets needs file descriptors, but leaves most of them to the program. */
TEST_F(CARD, descriptors_are_left_to_the_program)
{
	unsigned int before = open_files(), n = 0, files;
	struct rlimit all, few;
	void *mem[FILES];

	fake.apart = MEM_BYTES;
	fake.import_size = MEM_BYTES;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = (struct rlimit){ before + FILES, all.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	do {
		files = open_files();
		assert_true(n < FILES);
		mem[n] = VTAMemAlloc(MEM_BYTES, VTA_CACHED);
		assert_non_null(mem[n++]);
	} while (open_files() > files);
	/* The last buffer has no descriptor, so a reset would lose it. */
	assert_int_equal(reset(), -EOPNOTSUPP);
	VTAMemFree(mem[--n]);
	assert_true(n >= 100);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(reset(), 0);
	while (n)
		VTAMemFree(mem[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(open_files(), before);
}

/* Such a core would decode the streams of VTA's headers differently. */
TEST_F(CARD, cores_that_are_laid_out_otherwise_are_refused)
{
	VTADeviceHandle device;
	char *text;

	fake.info.log_uop_buff_size = 10;
	fake.info.log_acc_buff_size = 17;
	catch_begin();
	device = VTADeviceAlloc();
	text = catch_end();
	assert_int_equal(times_in(text, "LOG_UOP_BUFF_SIZE=10"), 1);
	free(text);
	assert_null(device);
	assert_int_equal(fake.queues, 0);

	fake.info.log_uop_buff_size = 11;
	device = VTADeviceAlloc();
	assert_non_null(device);
	VTADeviceFree(device);
}
