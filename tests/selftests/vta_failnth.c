// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_failnth - every allocation and every access to the caller's memory fails
 * once, in every call, in probing and in loading the module
 *
 * The kernel's fail-nth makes the n-th of them fail in this thread. For each call
 * n goes up from 1 until the call needs fewer. It either succeeds, since there was
 * another way, or fails with the errno of that, and then nothing of it is left.
 */
#include <glob.h>
#include <sys/eventfd.h>

#include "vta_foreign.h"
#include "vta_harness.h"

#define AUTOPROBE	"/sys/bus/pci/drivers_autoprobe"
#define MODULE		"/lib/vta.ko"
#define NTH		"/proc/thread-self/fail-nth"
/* No call needs as many. */
#define NTH_MAX		20000

/* ---- The kernel's side ---- */

/*
 * All caches but that of /proc's entries: an interrupt continues without its own, and
 * the kernel then complains that there is nothing to remove.
 */
static int choose_caches(void)
{
	unsigned int chosen = 0;
	glob_t caches;

	if (glob("/sys/kernel/slab/*/failslab", 0, NULL, &caches))
		return -ENOENT;
	for (size_t i = 0; i < caches.gl_pathc; i++)
		if (!strstr(caches.gl_pathv[i], "/proc_dir_entry/"))
			chosen += !file_write(caches.gl_pathv[i], "1");
	globfree(&caches);
	return chosen > 50 ? file_write("/sys/kernel/debug/failslab/cache-filter", "Y") : -ENOENT;
}

/* Also what may sleep, of any size; and no trace in the log for each. */
static int setup_faults(void)
{
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
		{ "fail_usercopy/verbose", "0" },
	};
	char path[96];
	int err = 0;

	for (unsigned int i = 0; i < sizeof(settings) / sizeof(settings[0]) && !err; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i][0]);
		err = file_write(path, settings[i][1]);
	}
	return err ? err : choose_caches();
}

static int nth_fd = -1;

/* Writing may be what fails, once. */
static void arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(nth_fd, text, (size_t)len, 0) != len &&
	    pwrite(nth_fd, text, (size_t)len, 0) != len)
		abort();
}

/* Returns true if the n-th has failed: fail-nth reads as 0 then. Reading may fail instead. */
static bool disarm(void)
{
	char text[16] = "";
	bool failed = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && !atoi(text);

	arm(0);
	return failed;
}

/* ---- Steps: a call, and its reverse ---- */

FIXTURE(failnth) {
	char address[32];
	int fd;
	struct queue q;
	struct mem host, card;
	void *memory;
	struct usage before;
	int shared, event;		/* a dma-buf of @host, an eventfd */
};

struct step {
	int ret;
	uint32_t handle;	/* of what has been made, if it succeeded; or: */
	int fd;
	void *ptr;
};

typedef void (*step_fn)(struct _test_data_failnth *self, struct step *step);

static bool fits(int ret)
{
	return !ret || ret == -ENOMEM || ret == -EFAULT;
}

/* Returns how often it could be made to fail; negative if something is wrong. */
static int fail_each(struct _test_data_failnth *self, step_fn act, step_fn undo)
{
	for (unsigned int n = 1; n < NTH_MAX; n++) {
		struct step step = { .fd = -1 };
		bool failed;

		arm(n);
		act(self, &step);
		failed = disarm();
		if (!step.ret && undo)
			undo(self, &step);
		if (!usage_is(&self->before)) {
			printf("# the %u-th failure leaves something behind\n", n);
			return -1;
		}
		if (!fits(step.ret) || (!failed && step.ret)) {
			printf("# the %u-th failure comes to errno %d\n", n, -step.ret);
			return -1;
		}
		if (!failed)
			return (int)n - 1;
	}
	return -1;
}

/* ---- Calls ---- */

static void do_open(struct _test_data_failnth *self, struct step *step)
{
	(void)self;
	step->fd = card_open();
	step->ret = step->fd < 0 ? step->fd : 0;
}

static void do_close(struct _test_data_failnth *self, struct step *step)
{
	(void)self;
	close(step->fd);
}

static void do_info(struct _test_data_failnth *self, struct step *step)
{
	struct vta_info info;

	step->ret = card_ioctl(self->fd, VTA_IOCTL_INFO, &info);
}

static void do_lost(struct _test_data_failnth *self, struct step *step)
{
	struct vta_lost lost;

	step->ret = card_ioctl(self->fd, VTA_IOCTL_LOST, &lost);
}

static void do_alloc(struct _test_data_failnth *self, struct step *step, uint64_t size,
		     uint32_t flags)
{
	struct vta_buf_alloc req = { .size = size, .flags = flags };

	step->ret = card_ioctl(self->fd, VTA_IOCTL_BUF_ALLOC, &req);
	step->handle = req.handle;
}

static void do_alloc_host(struct _test_data_failnth *self, struct step *step)
{
	do_alloc(self, step, 64 << 10, VTA_BUF_HOST);
}

static void do_alloc_large(struct _test_data_failnth *self, struct step *step)
{
	do_alloc(self, step, 4 << 20, VTA_BUF_HOST);
}

static void do_alloc_card(struct _test_data_failnth *self, struct step *step)
{
	do_alloc(self, step, 64 << 10, VTA_BUF_CARD);
}

static void do_free(struct _test_data_failnth *self, struct step *step)
{
	struct vta_buf_free req = { .handle = step->handle };

	if (card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &req))
		abort();
}

/* At an address that needs a new table. */
static void do_alloc_far(struct _test_data_failnth *self, struct step *step)
{
	struct vta_buf_alloc req = {
		.size = 4096, .flags = VTA_BUF_FIXED, .addr = 0x40000000,
	};

	step->ret = card_ioctl(self->fd, VTA_IOCTL_BUF_ALLOC, &req);
	step->handle = req.handle;
}

/* Of a buffer that does not exist: a call whose argument cannot be read frees nothing. */
static void do_free_none(struct _test_data_failnth *self, struct step *step)
{
	struct vta_buf_free req = { .handle = UINT32_MAX };

	step->ret = card_ioctl(self->fd, VTA_IOCTL_BUF_FREE, &req);
	if (step->ret == -ENOENT)
		step->ret = 0;
}

static void do_pin(struct _test_data_failnth *self, struct step *step)
{
	struct vta_buf_pin req = { .user_addr = (uintptr_t)self->memory, .size = 65536 };

	step->ret = card_ioctl(self->fd, VTA_IOCTL_BUF_PIN, &req);
	step->handle = req.handle;
}

static void do_export(struct _test_data_failnth *self, struct step *step)
{
	struct vta_buf_export req = { .handle = self->host.handle, .flags = O_RDWR | O_CLOEXEC };

	step->ret = card_ioctl(self->fd, VTA_IOCTL_BUF_EXPORT, &req);
	step->fd = req.fd;
}

static void do_import(struct _test_data_failnth *self, struct step *step)
{
	struct vta_buf_import req = { .fd = self->shared };

	step->ret = card_ioctl(self->fd, VTA_IOCTL_BUF_IMPORT, &req);
	step->handle = req.handle;
}

static void do_create(struct _test_data_failnth *self, struct step *step)
{
	struct vta_queue_create req = { .ring_order = 8 };

	step->ret = card_ioctl(self->fd, VTA_IOCTL_QUEUE_CREATE, &req);
	step->handle = req.queue;
}

static void do_destroy(struct _test_data_failnth *self, struct step *step)
{
	struct vta_queue_destroy req = { .queue = step->handle };

	if (card_ioctl(self->fd, VTA_IOCTL_QUEUE_DESTROY, &req))
		abort();
}

static void do_wait(struct _test_data_failnth *self, struct step *step)
{
	step->ret = queue_wait(&self->q, 0, 0, NULL);
}

/* The result of the wait is worth more than an error because the number could not be written. */
static void do_wait_that_times_out(struct _test_data_failnth *self, struct step *step)
{
	step->ret = queue_wait(&self->q, 1, 0, NULL);
	if (step->ret == -ETIMEDOUT)
		step->ret = 0;
}

static void do_wait_many(struct _test_data_failnth *self, struct step *step)
{
	struct vta_fence fences[8];
	struct vta_wait_many req = { .fences = (uintptr_t)fences, .count = 8 };

	for (unsigned int i = 0; i < 8; i++)
		fences[i] = (struct vta_fence) { .fd = self->fd, .queue = self->q.id };
	step->ret = card_ioctl(self->fd, VTA_IOCTL_WAIT_MANY, &req);
}

static void do_event(struct _test_data_failnth *self, struct step *step)
{
	struct vta_queue_event req = { .queue = self->q.id, .fd = self->event };

	step->ret = card_ioctl(self->fd, VTA_IOCTL_QUEUE_EVENT, &req);
}

static void do_fault(struct _test_data_failnth *self, struct step *step)
{
	struct vta_queue_fault fault;

	step->ret = queue_fault(&self->q, &fault);
}

static void do_map(struct _test_data_failnth *self, const struct mem *mem, struct step *step)
{
	step->ptr = mmap(NULL, mem->size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
			 (off_t)mem->offset);
	step->ret = step->ptr == MAP_FAILED ? -errno : 0;
	/* Faults are tried again until there is memory. */
	if (!step->ret)
		*(volatile int *)step->ptr = 1;
}

static void do_map_host(struct _test_data_failnth *self, struct step *step)
{
	do_map(self, &self->host, step);
}

static void do_map_card(struct _test_data_failnth *self, struct step *step)
{
	do_map(self, &self->card, step);
}

static void do_unmap(struct _test_data_failnth *self, struct step *step)
{
	munmap(step->ptr, self->host.size);
}

/* ---- Files of the kernel's ---- */

static void do_read_file(const char *path, struct step *step)
{
	char text[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	step->ret = fd < 0 || read(fd, text, sizeof(text)) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
}

static void do_fdinfo(struct _test_data_failnth *self, struct step *step)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	do_read_file(path, step);
}

static void begin(struct __test_metadata *_metadata, struct _test_data_failnth *self)
{
	if (access(NTH, W_OK))
		SKIP(return, "this kernel cannot make allocations fail");
	ASSERT_EQ(0, setup_faults());
	nth_fd = open(NTH, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, nth_fd);
	ASSERT_EQ(0, card_pci_address(self->address, sizeof(self->address)));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, queue_open(self->fd, &self->q, NULL));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->host, 65536, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(self->fd, &self->card, 65536, VTA_BUF_CARD, 0));
	self->memory = aligned_alloc(4096, 65536);
	ASSERT_NE(NULL, self->memory);
	memset(self->memory, 1, 65536);
	self->shared = buf_export(self->fd, self->host.handle, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->shared);
	self->event = eventfd(0, EFD_CLOEXEC);
	ASSERT_LE(0, self->event);
	self->before = card_usage();
}

static void end(struct __test_metadata *_metadata, struct _test_data_failnth *self)
{
	if (nth_fd < 0)
		return;
	arm(0);
	close(nth_fd);
	queue_unmap(&self->q);
	close(self->fd);
	close(self->shared);
	close(self->event);
	free(self->memory);
	EXPECT_EQ(0, card_try());
}

FIXTURE_SETUP(failnth)
{
	begin(_metadata, self);
}

FIXTURE_TEARDOWN(failnth)
{
	end(_metadata, self);
}

FIXTURE(call) {
	struct _test_data_failnth failnth;
};

FIXTURE_VARIANT(call) {
	step_fn act, undo;
	int least;		/* failures that there must be */
};

FIXTURE_VARIANT_ADD(call, open) { do_open, do_close, 6 };
FIXTURE_VARIANT_ADD(call, info) { do_info, NULL, 1 };
FIXTURE_VARIANT_ADD(call, lost) { do_lost, NULL, 1 };
FIXTURE_VARIANT_ADD(call, alloc_host) { do_alloc_host, do_free, 6 };
FIXTURE_VARIANT_ADD(call, alloc_large) { do_alloc_large, do_free, 6 };
FIXTURE_VARIANT_ADD(call, alloc_card) { do_alloc_card, do_free, 4 };
FIXTURE_VARIANT_ADD(call, alloc_far) { do_alloc_far, do_free, 6 };
FIXTURE_VARIANT_ADD(call, free) { do_free_none, NULL, 1 };
FIXTURE_VARIANT_ADD(call, pin) { do_pin, do_free, 6 };
FIXTURE_VARIANT_ADD(call, export) { do_export, do_close, 6 };
FIXTURE_VARIANT_ADD(call, queue_create) { do_create, do_destroy, 11 };
FIXTURE_VARIANT_ADD(call, wait) { do_wait, NULL, 2 };
FIXTURE_VARIANT_ADD(call, wait_that_times_out) { do_wait_that_times_out, NULL, 2 };
FIXTURE_VARIANT_ADD(call, wait_many) { do_wait_many, NULL, 2 };
FIXTURE_VARIANT_ADD(call, fault) { do_fault, NULL, 2 };
FIXTURE_VARIANT_ADD(call, map_host) { do_map_host, do_unmap, 1 };
FIXTURE_VARIANT_ADD(call, map_card) { do_map_card, do_unmap, 1 };
FIXTURE_VARIANT_ADD(call, fdinfo) { do_fdinfo, NULL, 1 };
FIXTURE_VARIANT_ADD(call, import) { do_import, do_free, 4 };
FIXTURE_VARIANT_ADD(call, queue_event) { do_event, NULL, 1 };

FIXTURE_SETUP(call)
{
	begin(_metadata, &self->failnth);
}

FIXTURE_TEARDOWN(call)
{
	end(_metadata, &self->failnth);
}

TEST_F(call, leaves_nothing_behind_if_it_fails)
{
	EXPECT_LE(variant->least, fail_each(&self->failnth, variant->act, variant->undo));
}

/* The pages are another driver's to map. */
TEST_F(failnth, import_of_another_driver_leaves_nothing_behind)
{
	close(self->shared);
	self->shared = foreign_export(FOREIGN_UDMABUF, 65536);
	if (self->shared == -ENODEV)
		SKIP(return, "no udmabuf");
	ASSERT_LE(0, self->shared);
	EXPECT_LE(4, fail_each(self, do_import, do_free));
}

/* ---- The whole card ---- */

static void let_go(struct _test_data_failnth *self)
{
	queue_unmap(&self->q);
	munmap(self->host.ptr, self->host.size);
	munmap(self->card.ptr, self->card.size);
	close(self->fd);
	close(self->shared);
	self->fd = -1;
	self->shared = -1;
}

static void do_reset(struct _test_data_failnth *self, struct step *step)
{
	(void)self;
	step->ret = card_reset();
}

/* Without memory for the reason, or without a listener, the card is reset all the same. */
TEST_F(failnth, reset_succeeds_without_memory)
{
	uint64_t before = card_attr("generation");
	int failures;

	let_go(self);
	self->before = card_usage();
	failures = fail_each(self, do_reset, NULL);
	EXPECT_LT(3, failures);
	EXPECT_LT(before, card_attr("generation"));
}

static bool bound(const char *address)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vta", address);
	return !access(path, F_OK);
}

/*
 * Interrupts that cannot be had are ENOSPC to PCI, and BARs that cannot be noted as
 * taken EBUSY; without room for its number the function stays unbound without an
 * errno.
 */
TEST_F_TIMEOUT(failnth, probing_leaves_nothing_behind_if_it_fails, 3600)
{
	unsigned int n, injected = 0;
	bool failed = true;

	let_go(self);
	for (n = 1; failed && n < NTH_MAX; n++) {
		int err;

		ASSERT_EQ(0, file_write(DRIVER "unbind", self->address));
		arm(n);
		err = file_write(DRIVER "bind", self->address);
		failed = disarm();
		injected += failed;
		EXPECT_TRUE(!err || err == -ENOMEM || err == -EFAULT || err == -ENOSPC ||
			    err == -EBUSY || err == -EINVAL || err == -ENODEV)
			TH_LOG("the %u-th failure comes to errno %d", n, -err);
		EXPECT_EQ(!err, bound(self->address))
			TH_LOG("the %u-th failure", n);
		if (!bound(self->address))
			ASSERT_EQ(0, file_write(DRIVER "bind", self->address));
		EXPECT_EQ(card_attr("mem_size"), card_attr("mem_free"));
		EXPECT_EQ(0, card_attr("host_bytes"));
	}
	TH_LOG("%u failures", injected);
	EXPECT_LT(20, injected);
}

static int load(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return err;
}

/*
 * Without probing, whose failures have been seen above. EINVAL is the kernel's own, of
 * what it does with a module's parts before it is asked.
 */
TEST_F_TIMEOUT(failnth, loading_leaves_nothing_behind_if_it_fails, 3600)
{
	unsigned int n, injected = 0;
	bool failed = true;

	let_go(self);
	ASSERT_EQ(0, syscall(SYS_delete_module, "vta", 0));
	ASSERT_EQ(0, file_write(AUTOPROBE, "0"));
	for (n = 1; failed && n < NTH_MAX; n++) {
		int err;

		arm(n);
		err = load();
		failed = disarm();
		injected += failed;
		EXPECT_TRUE(!err || err == -ENOMEM || err == -EFAULT || err == -EINVAL)
			TH_LOG("the %u-th failure comes to errno %d", n, -err);
		if (!err)
			ASSERT_EQ(0, syscall(SYS_delete_module, "vta", 0));
	}
	TH_LOG("%u failures", injected);
	EXPECT_LT(50, injected);
	ASSERT_EQ(0, file_write(AUTOPROBE, "1"));
	ASSERT_EQ(0, load());
	ASSERT_TRUE(bound(self->address));
}

TEST_HARNESS_MAIN
