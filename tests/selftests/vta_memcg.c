// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_memcg - a user whose memory cgroup is at its limit waits for memory, and no other user
 * waits for that (kmod/vta_host.c); the user's limit counts all that the cgroup counts
 */
#include <stdatomic.h>
#include <sys/mount.h>

#include "vta_harness.h"

/* A buffer of so many scattered pages needs many tables. */
#define PAGES		65536ul
#define PAGE		4096ul

/* The function in which a call sleeps, once it has pinned the pages. */
#define SLEEPS_IN	"vta_buf_publish"

/* A process that pins the same memory again and again. */
struct pinner {
	pid_t pid;
	struct shared {
		_Atomic unsigned int calls;	/* that have begun */
		_Atomic unsigned int ends;
		_Atomic int fd;
	} *shared;
};

/* A memory cgroup, and where its hierarchy is mounted. */
struct group {
	char dir[32];
	char path[64];
};

FIXTURE(memcg) {
	struct group group;
	struct usage before;
	struct pinner pinner;
};

static int group_write(const char *dir, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return file_write(path, text);
}

static int group_make(struct group *g)
{
	strcpy(g->dir, "/tmp/vta-memcg.XXXXXX");
	if (!mkdtemp(g->dir) || mount("none", g->dir, "cgroup2", 0, NULL))
		return -errno;
	snprintf(g->path, sizeof(g->path), "%s/poor", g->dir);
	return group_write(g->dir, "cgroup.subtree_control", "+memory") ?:
	       mkdir(g->path, 0755) ? -errno : 0;
}

static int group_remove(const struct group *g)
{
	return rmdir(g->path) || umount(g->dir) || rmdir(g->dir) ? -errno : 0;
}

/* Pages that do not follow each other: they are touched in another order. */
static char *scattered(void)
{
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	unsigned long i;

	if (at == MAP_FAILED || madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE))
		return NULL;
	for (i = 0; i < PAGES; i++)
		at[i * 12345 % PAGES * PAGE] = 1;
	return at;
}

static void pinner_run(const char *group, struct shared *shared)
{
	struct vta_buf_pin req;
	char *at = scattered();

	if (!at || group_write(group, "cgroup.procs", "0"))
		_exit(1);
	for (;;) {
		int fd = card_open();

		shared->fd = fd;
		shared->calls++;
		buf_pin(fd, at, PAGES * PAGE, 0, &req);
		shared->ends++;
		close(fd);
	}
}

static int pinner_start(struct pinner *p, const char *group)
{
	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shared == MAP_FAILED)
		return -errno;
	p->pid = fork();
	if (!p->pid)
		pinner_run(group, p->shared);
	return p->pid < 0 ? -errno : 0;
}

/* Waits until the pinner sleeps amid a call, and returns the number of that call. */
static unsigned int pinner_catch(const struct pinner *p)
{
	for (;; sleep_ms(1)) {
		unsigned int call = p->shared->calls;

		if (call > p->shared->ends && proc_is_in(p->pid, SLEEPS_IN) &&
		    p->shared->calls == call)
			return call;
	}
}

FIXTURE_SETUP(memcg)
{
	self->before = card_usage();
	ASSERT_EQ(0, group_make(&self->group));
	ASSERT_EQ(0, group_write(self->group.path, "memory.high", "0"));
	ASSERT_EQ(0, pinner_start(&self->pinner, self->group.path));
}

FIXTURE_TEARDOWN(memcg)
{
	EXPECT_EQ(0, kill(self->pinner.pid, SIGKILL));
	EXPECT_EQ(self->pinner.pid, waitpid(self->pinner.pid, NULL, 0));
	EXPECT_TRUE(usage_is(&self->before));
	EXPECT_EQ(0, group_remove(&self->group));
}

/*
 * Returns true if @other ends while the pinner sleeps in one call. On a busy
 * machine the pinner may wake up first, so @other is tried again. If @other waited for the pinner,
 * no try could succeed.
 */
static bool ends_meanwhile(const struct pinner *p, int (*other)(const struct pinner *p))
{
	for (unsigned int tries = 0; tries < 20; tries++) {
		unsigned int call = pinner_catch(p);

		if (other(p))
			return false;
		if (p->shared->ends < call && proc_is_in(p->pid, SLEEPS_IN))
			return true;
	}
	return false;
}

static int read_fdinfo(const struct pinner *p)
{
	char name[32], text[4096];
	int ret;

	snprintf(name, sizeof(name), "fdinfo/%d", p->shared->fd);
	ret = proc_read(p->pid, name, text, sizeof(text));
	return ret ?: strstr(text, "vta-pinned-bytes") ? 0 : -ENOENT;
}

TEST_F(memcg, sleeper_does_not_delay_reading_fdinfo)
{
	if (kernel_is_before(5, 18))
		SKIP(return, "this kernel does not let a call sleep for its cgroup");
	EXPECT_TRUE(ends_meanwhile(&self->pinner, read_fdinfo));
}

static int reset_card(const struct pinner *p)
{
	(void)p;
	return card_reset();
}

TEST_F(memcg, sleeper_does_not_delay_a_reset)
{
	if (kernel_is_before(5, 18))
		SKIP(return, "this kernel does not let a call sleep for its cgroup");
	EXPECT_TRUE(ends_meanwhile(&self->pinner, reset_card));
}

static int use_card(const struct pinner *p)
{
	(void)p;
	return card_try();
}

TEST_F(memcg, sleeper_does_not_delay_opening)
{
	if (kernel_is_before(5, 18))
		SKIP(return, "this kernel does not let a call sleep for its cgroup");
	EXPECT_TRUE(ends_meanwhile(&self->pinner, use_card));
}

/* As ends_meanwhile(). The pinner has let go of the card before the driver is bound again. */
static bool unbinds_meanwhile(const struct pinner *p, const char *address)
{
	bool meanwhile = false;

	for (unsigned int tries = 0; tries < 20 && !meanwhile; tries++) {
		unsigned int call = pinner_catch(p);

		if (file_write(DRIVER "unbind", address))
			return false;
		meanwhile = p->shared->ends < call && proc_is_in(p->pid, SLEEPS_IN);
		if (!SOON(p->shared->fd < 0) || file_write(DRIVER "bind", address))
			return false;
	}
	return meanwhile;
}

TEST_F(memcg, sleeper_does_not_delay_unbinding)
{
	char address[32];

	if (kernel_is_before(5, 18))
		SKIP(return, "this kernel does not let a call sleep for its cgroup");
	ASSERT_EQ(0, card_pci_address(address, sizeof(address)));
	EXPECT_TRUE(unbinds_meanwhile(&self->pinner, address));
}

/* ---- the cgroup and the limit count the same ---- */

/* Buffers of one page, so far apart that each has a node of its own in the driver's table. */
#define BUFFERS		3000u
#define APART		(64 * PAGE)
/* Two processors hold charges of up to 64 pages each that they do not use. */
#define UNUSED_CHARGE	(2 * 64 * PAGE)

FIXTURE(count) {
	struct group group;
};

FIXTURE_VARIANT(count) {
	uint32_t flags;
	bool pin;
};

FIXTURE_VARIANT_ADD(count, host_memory) { .flags = 0 };
FIXTURE_VARIANT_ADD(count, card_memory) { .flags = VTA_BUF_CARD };
FIXTURE_VARIANT_ADD(count, pinned_memory) { .pin = true };

FIXTURE_SETUP(count)
{
	ASSERT_EQ(0, group_make(&self->group));
}

FIXTURE_TEARDOWN(count)
{
	EXPECT_EQ(0, group_remove(&self->group));
}

struct taker {
	const char *group;
	uint32_t flags;
	bool pin;
};

static uint64_t group_bytes(const char *group)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/memory.current", group);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return UINT64_MAX;
	close(fd);
	return strtoull(text, NULL, 10);
}

static int take_buffer(int fd, const struct taker *t, void *page, uint64_t addr)
{
	struct vta_buf_alloc alloc = {
		.size = PAGE, .addr = addr, .flags = VTA_BUF_FIXED | t->flags,
	};
	struct vta_buf_pin pin = {
		.user_addr = (uintptr_t)page, .size = PAGE, .addr = addr, .flags = VTA_BUF_FIXED,
	};

	return t->pin ? card_ioctl(fd, VTA_IOCTL_BUF_PIN, &pin) :
	       card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &alloc);
}

static int take_buffers(void *arg)
{
	const struct taker *t = arg;
	uint64_t taken, counted;
	void *page;
	int fd;

	MUST(!group_write(t->group, "cgroup.procs", "0"));
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(page != MAP_FAILED);
	fd = card_open();
	MUST(fd >= 0 && !take_buffer(fd, t, page, APART));
	taken = group_bytes(t->group);
	counted = ctx_number(fd, "vta-user-host-bytes");
	for (uint64_t i = 2; i < BUFFERS; i++)
		MUST(!take_buffer(fd, t, page, i * APART));
	taken = group_bytes(t->group) - taken;
	counted = ctx_number(fd, "vta-user-host-bytes") - counted;
	printf("# %u buffers: the cgroup counts %llu bytes, the limit %llu\n", BUFFERS - 2,
	       (unsigned long long)taken, (unsigned long long)counted);
	fflush(stdout);
	/* The count is not far too high, either. */
	return HOLDS(taken <= counted + UNUSED_CHARGE && counted <= 2 * taken) ? 0 : 1;
}

TEST_F(count, is_no_less_than_what_is_taken)
{
	struct taker t = { self->group.path, variant->flags, variant->pin };

	EXPECT_EQ(0, in_child(take_buffers, &t));
}

/* ---- a user whose cgroup is at its limit, and has memory that the kernel can take back ---- */

FIXTURE(limit) {
	struct group group;
};

FIXTURE_SETUP(limit)
{
	ASSERT_EQ(0, group_make(&self->group));
}

FIXTURE_TEARDOWN(limit)
{
	EXPECT_EQ(0, group_remove(&self->group));
}

/* Each of these buffers has a page table of its own. */
#define TABLES		1500u
#define TABLE_REACH	(2 * MIB)
/* For the pages of the buffers, their tables, and all that the driver allocates besides. */
#define SPARE_BYTES	(64 * MIB)

/* Memory that is counted, and freed when the kernel wants it. */
static bool take_spare(void)
{
	void *at = mmap(NULL, SPARE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED || madvise(at, SPARE_BYTES, MADV_NOHUGEPAGE))
		return false;
	memset(at, 1, SPARE_BYTES);
	return !madvise(at, SPARE_BYTES, MADV_FREE);
}

static uint64_t times_at_limit(const char *group)
{
	char path[128], text[256] = "";
	const char *count;
	int fd;

	snprintf(path, sizeof(path), "%s/memory.events", group);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return UINT64_MAX;
	close(fd);
	count = strstr(text, "\nmax ");
	return count ? strtoull(count + 5, NULL, 10) : UINT64_MAX;
}

static int maps_at_the_limit(void *arg)
{
	const struct taker *t = arg;
	uint64_t times;
	char max[32];
	int fd;

	MUST(!group_write(t->group, "cgroup.procs", "0"));
	fd = card_open();
	MUST(fd >= 0 && take_spare());
	snprintf(max, sizeof(max), "%llu", (unsigned long long)group_bytes(t->group));
	MUST(!group_write(t->group, "memory.max", max));
	times = times_at_limit(t->group);
	MUST(times != UINT64_MAX);
	for (uint64_t i = 1; i <= TABLES; i++)
		MUST(!take_buffer(fd, t, NULL, i * TABLE_REACH));
	times = times_at_limit(t->group) - times;
	printf("# %u buffers: at the limit %llu times\n", TABLES, (unsigned long long)times);
	fflush(stdout);
	/* Tables are half of what was taken, so some of these times it was for one. */
	return HOLDS(times >= 10) ? 0 : 1;
}

/* Tables are allocated without waiting for memory; if there is none, the call waits and retries. */
TEST_F(limit, call_waits_for_memory_of_tables)
{
	struct taker t = { .group = self->group.path };

	EXPECT_EQ(0, in_child(maps_at_the_limit, &t));
}

TEST_HARNESS_MAIN
