// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_limits - limits of a user hold over all files, processes and user namespaces
 * (kmod/vta_user.c)
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "vta_harness.h"

#define ANOTHER_USER	1000

FIXTURE(limits) {
	struct usage before;
	uint64_t mem, queues, contexts;	/* of the card, in all */
	int there[2], back[2];
};

FIXTURE_SETUP(limits)
{
	self->before = card_usage();
	self->mem = card_attr("mem_size");
	self->queues = card_attr("queues");
	self->contexts = card_attr("contexts");
	ASSERT_EQ(0, chmod(card_node(), 0666));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_mem", "75"));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_queues", "75"));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_contexts", "75"));
}

FIXTURE_TEARDOWN(limits)
{
	EXPECT_TRUE(usage_is(&self->before));
	EXPECT_EQ(0, chmod(card_node(), 0600));
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_mem", "75"));
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_queues", "75"));
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_contexts", "75"));
}

static int take(int fd, uint64_t size, uint32_t *handle)
{
	struct vta_buf_alloc req = { .size = size, .flags = VTA_BUF_CARD };
	int err = card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &req);

	if (handle)
		*handle = req.handle;
	return err;
}

static int take_queue(int fd, uint32_t *id)
{
	struct vta_queue_create req = {};
	int err = card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &req);

	if (id)
		*id = req.queue;
	return err;
}

static int take_a_page(void *arg)
{
	int fd;

	MUST(!become(*(unsigned int *)arg));
	fd = card_open();
	MUST(fd >= 0);
	MUST(!take(fd, 4096, NULL) && !take_queue(fd, NULL));
	return 0;
}

/* Children that try to have a bit more while their parent has all it may. */
static int is_refused(void *arg)
{
	int fd = card_open();

	(void)arg;
	MUST(fd >= 0);
	MUST(take(fd, 4096, NULL) == -EDQUOT);
	MUST(take_queue(fd, NULL) == -EDQUOT);
	return 0;
}

/* All the memory and the queues that a user may have. */
static int take_all(int fd, uint64_t mem, uint64_t queues, uint32_t *handle, uint32_t *queue)
{
	MUST(!take(fd, mem - 4096, NULL));
	MUST(!take(fd, 4096, handle));
	MUST(take(fd, 4096, NULL) == -EDQUOT);
	MUST(ctx_number(fd, "vta-card-bytes") == mem);
	for (; queues; queues--)
		MUST(!take_queue(fd, queue));
	MUST(take_queue(fd, NULL) == -EDQUOT);
	return 0;
}

static int spend_all(void *arg)
{
	const struct _test_data_limits *self = arg;
	uint64_t mem = self->mem * 75 / 100 & ~4095ull;
	uint64_t queues = self->queues * 75 / 100;
	struct vta_queue_destroy destroy = {};
	uint32_t handle = 0;
	int fd;

	MUST(!become(NOBODY));
	fd = card_open();
	MUST(fd >= 0);
	MUST(take(fd, mem + 4096, NULL) == -EDQUOT);
	MUST(!take_all(fd, mem, queues, &handle, &destroy.queue));
	MUST(ctx_number(fd, "vta-queues") == queues);

	/* Not in another file, not in another process. */
	MUST(!is_refused(NULL));
	MUST(!in_child(is_refused, NULL));

	/* Released resources are available again. */
	MUST(!buf_release(fd, handle) && !take(fd, 4096, &handle));
	MUST(take(fd, 4096, NULL) == -EDQUOT);
	MUST(!card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &destroy));
	MUST(!take_queue(fd, NULL) && take_queue(fd, NULL) == -EDQUOT);
	close(fd);
	fd = card_open();
	MUST(!take(fd, mem, NULL) && !take_queue(fd, NULL));
	return 0;
}

TEST_F(limits, hold_for_memory_and_queues)
{
	EXPECT_EQ(0, in_child(spend_all, self));
}

/* Runs @with while NOBODY has all it may. */
static int while_all_is_spent(const struct _test_data_limits *self, int (*with)(void *), void *arg)
{
	uint64_t mem = self->mem * 75 / 100 & ~4095ull;
	uint32_t handle = 0, queue;
	int ready[2], done[2], status;
	pid_t child;
	char byte = 0;
	int ret;

	if (pipe(ready) || pipe(done))
		return -errno;
	child = fork();
	if (!child) {
		int fd;

		close(done[1]);
		if (become(NOBODY))
			_exit(1);
		fd = card_open();
		if (fd < 0 || take(fd, mem, &handle))
			_exit(1);
		while (!take_queue(fd, &queue))
			;
		if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1))
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(done[0]);
	ret = read(ready[0], &byte, 1) == 1 ? with(arg) : -EPIPE;
	close(ready[0]);
	close(done[1]);
	waitpid(child, &status, 0);
	return ret ? ret : status;
}

static int as_another_user(void *arg)
{
	unsigned int uid = ANOTHER_USER;

	(void)arg;
	return in_child(take_a_page, &uid);
}

TEST_F(limits, of_one_user_leave_room_for_others)
{
	EXPECT_EQ(0, while_all_is_spent(self, as_another_user, NULL));
}

static int as_nobody_again(void *arg)
{
	(void)arg;
	MUST(!become(NOBODY));
	return is_refused(NULL);
}

static int in_another_process(void *arg)
{
	return in_child(as_nobody_again, arg);
}

TEST_F(limits, hold_for_all_processes_of_a_user)
{
	EXPECT_EQ(0, while_all_is_spent(self, in_another_process, NULL));
}

/* ---- user namespaces ---- */

#define GUEST	100000
#define OTHER	200000

/* A process in a namespace of its own, in which it has all capabilities. */
struct guest {
	unsigned int maker;	/* of the namespace; 0: root, and the guest becomes its root */
	unsigned int first;	/* of the kernel's numbers */
	int (*with)(void *arg);
	void *arg;
	int go[2], ready[2];
};

static int guest_run(struct guest *g)
{
	char byte = 0;

	MUST(!g->maker || !become(g->maker));
	/* Until there are maps, the process can write none itself. */
	MUST(!unshare(CLONE_NEWUSER));
	MUST(write(g->ready[1], &byte, 1) == 1 && read(g->go[0], &byte, 1) == 1);
	MUST(g->maker || (!setgid(0) && !setuid(0) && !getuid()));
	return g->with(g->arg);
}

static int as_guest(void *arg)
{
	struct guest *g = arg;
	char byte = 0, path[64], map[32];
	int status;
	pid_t child;

	MUST(!pipe(g->go) && !pipe(g->ready));
	child = fork();
	if (!child)
		_exit(guest_run(g));
	close(g->ready[1]);
	MUST(read(g->ready[0], &byte, 1) == 1);
	snprintf(map, sizeof(map), "0 %u 70000", g->first);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", child);
	MUST(!file_write(path, map));
	snprintf(path, sizeof(path), "/proc/%d/gid_map", child);
	MUST(!file_write(path, map));
	MUST(write(g->go[1], &byte, 1) == 1);
	waitpid(child, &status, 0);
	close(g->ready[0]);
	close(g->go[0]);
	close(g->go[1]);
	return status;
}

static int take_some(void *arg)
{
	int fd = card_open();

	(void)arg;
	return HOLDS(fd >= 0) && HOLDS(!take(fd, 4096, NULL) && !take_queue(fd, NULL)) ? 0 : 1;
}

/* Inside a namespace of its own, a user can have any ID and all capabilities. */
static int as_another(void *arg)
{
	(void)arg;
	MUST(!setgid(7) && !setuid(7));
	MUST(getuid() == 7);
	return is_refused(NULL);
}

/* And a namespace inside, whose owner is that ID. @arg: the group of the user's queues. */
static int as_another_and_inside(void *arg)
{
	int fd;

	MUST(!as_another(NULL));
	fd = card_open();
	MUST(fd >= 0 && ctx_number(fd, "vta-group") == *(unsigned char *)arg);
	MUST(!unshare(CLONE_NEWUSER));
	return is_refused(NULL);
}

/* Half of what a user may pin, as one of many IDs, through a file that is open. */
struct half {
	int fd;
	unsigned int uid;
};

static int pin_a_half_and_leave(void *arg)
{
	const struct half *half = arg;
	void *ptr = mmap(NULL, MIB / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vta_buf_pin req;

	MUST(ptr != MAP_FAILED && !setuid(half->uid));
	return -buf_pin(half->fd, ptr, MIB / 2, 0, &req);
}

static int pin_as_many(void *arg)
{
	const struct rlimit limit = { MIB, MIB };
	struct half half = { .fd = card_open() };

	(void)arg;
	MUST(half.fd >= 0 && !setrlimit(RLIMIT_MEMLOCK, &limit));
	for (half.uid = 1; half.uid <= 2; half.uid++)
		MUST(!in_child(pin_a_half_and_leave, &half));
	return HOLDS(in_child(pin_a_half_and_leave, &half) == ENOMEM) ? 0 : 1;
}

TEST_F(limits, of_pinned_memory_hold_in_user_namespaces)
{
	struct guest guest = { .maker = NOBODY, .first = GUEST, .with = pin_as_many };

	EXPECT_EQ(0, as_guest(&guest));
}

TEST_F(limits, hold_in_user_namespaces)
{
	struct guest guest = { .maker = NOBODY, .first = GUEST, .with = as_another };

	EXPECT_EQ(0, while_all_is_spent(self, as_guest, &guest));
}

/* The first has all it may; then the same number has no more, and the other has its own. */
static int spend_and_wait(void *arg)
{
	const struct _test_data_limits *self = arg;
	uint64_t mem = self->mem * 75 / 100 & ~4095ull;
	uint32_t handle = 0, queue = 0;
	int fd = card_open();
	char byte = 0;

	MUST(fd >= 0);
	MUST(!take_all(fd, mem, self->queues * 75 / 100, &handle, &queue));
	if (is_refused(NULL))
		return 1;
	/* The test checks now. */
	byte = ctx_number(fd, "vta-group");
	MUST(write(self->there[1], &byte, 1) == 1 && read(self->back[0], &byte, 1) == 1);
	return 0;
}

TEST_F(limits, hold_for_all_ids_of_a_namespace_that_root_made)
{
	unsigned char byte = 0;
	struct guest first = { .first = GUEST, .with = spend_and_wait, .arg = self };
	struct guest again = { .first = GUEST, .with = is_refused };
	struct guest another = { .first = GUEST, .with = as_another_and_inside, .arg = &byte };
	struct guest other = { .first = OTHER, .with = take_some };
	pid_t child;

	ASSERT_EQ(0, pipe(self->there));
	ASSERT_EQ(0, pipe(self->back));
	child = fork();
	if (!child)
		_exit(as_guest(&first) ? 1 : 0);
	close(self->there[1]);
	ASSERT_EQ(1, read(self->there[0], &byte, 1));
	EXPECT_EQ(0, as_guest(&again));
	EXPECT_EQ(0, as_guest(&another));
	EXPECT_EQ(0, as_guest(&other));
	EXPECT_EQ(1, write(self->back[1], &byte, 1));
	EXPECT_EQ(0, child_end(child));
	close(self->there[0]);
	close(self->back[0]);
	close(self->back[1]);
}

static int as_nobody_and_as_another(void *arg)
{
	unsigned int uid = ANOTHER_USER;

	(void)arg;
	MUST(!in_child(take_a_page, &uid));
	return as_nobody_again(NULL);
}

/* A namespace that has the host's root is for the host's users, as of a service of systemd. */
TEST_F(limits, hold_for_each_user_of_the_host_in_a_namespace)
{
	struct guest guest = { .first = 0, .with = as_nobody_and_as_another };

	EXPECT_EQ(0, while_all_is_spent(self, as_guest, &guest));
}

/* ---- cgroups ---- */

#define GROUP_MEM	(64ull << 12)

struct group {
	char root[32], dir[64], region[48];
};

static int group_write(const char *dir, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return file_write(path, text);
}

/* The number after @name in a file of the group; UINT64_MAX if there is none. */
static uint64_t group_read(const char *dir, const char *file, const char *name)
{
	char path[128], line[256];
	uint64_t value = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		size_t len = strlen(name);

		if (!strncmp(line, name, len) && line[len] == ' ')
			value = strtoull(line + len, NULL, 10);
	}
	if (f)
		fclose(f);
	return value;
}

/* A cgroup that may have GROUP_MEM of the card; -EOPNOTSUPP if this kernel cannot do that. */
static int group_make(struct group *g)
{
	char address[32], text[64];
	int err = card_pci_address(address, sizeof(address));

	if (err)
		return err;
	snprintf(g->region, sizeof(g->region), "vta/%s", address);
	strcpy(g->root, "/tmp/vta-cgroup.XXXXXX");
	if (!mkdtemp(g->root) || mount("none", g->root, "cgroup2", 0, NULL))
		return -errno;
	snprintf(g->dir, sizeof(g->dir), "%s/some", g->root);
	if (group_write(g->root, "cgroup.subtree_control", "+dmem") || mkdir(g->dir, 0755)) {
		umount(g->root);
		rmdir(g->root);
		return -EOPNOTSUPP;
	}
	snprintf(text, sizeof(text), "%s %llu", g->region, GROUP_MEM);
	return group_write(g->dir, "dmem.max", text);
}

static int group_end(const struct group *g)
{
	return rmdir(g->dir) || umount(g->root) || rmdir(g->root) ? -errno : 0;
}

static int spend_group(void *arg)
{
	const struct group *g = arg;
	uint32_t handle = 0;
	int fd;

	MUST(!group_write(g->dir, "cgroup.procs", "0"));
	fd = card_open();
	MUST(fd >= 0 && take(fd, GROUP_MEM + 4096, NULL) == -EDQUOT);
	MUST(!group_read(g->dir, "dmem.current", g->region));
	MUST(!take(fd, GROUP_MEM - 4096, NULL) && !take(fd, 4096, &handle));
	MUST(group_read(g->dir, "dmem.current", g->region) == GROUP_MEM);
	MUST(take(fd, 4096, NULL) == -EDQUOT);
	/* Released resources are available again. */
	MUST(!buf_release(fd, handle) && !take(fd, 4096, NULL));
	return 0;
}

/* Capabilities do not exempt from it: root is in the cgroup here. */
TEST_F(limits, hold_for_a_cgroup)
{
	struct group g;
	int err = group_make(&g);

	if (err == -EOPNOTSUPP)
		SKIP(return, "this kernel has no dmem controller (Linux 6.14, CONFIG_CGROUP_DMEM)");
	ASSERT_EQ(0, err);
	EXPECT_EQ(self->mem, group_read(g.root, "dmem.capacity", g.region));
	EXPECT_EQ(0, in_child(spend_group, &g));
	EXPECT_EQ(0, group_read(g.dir, "dmem.current", g.region));
	/* Others are not counted. */
	EXPECT_EQ(0, in_child(take_some, NULL));
	EXPECT_EQ(0, group_end(&g));
}

/* ---- host memory ---- */

static int take_host(int fd, uint64_t size)
{
	struct vta_buf_alloc req = { .size = size };

	return card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &req);
}

/* The count of a user with this much memory in buffers of a MiB, with lists and tables. */
static bool counts_host(int fd, uint64_t size)
{
	uint64_t bytes = ctx_number(fd, "vta-user-host-bytes");

	return bytes >= size && bytes < size + size / 16 + 16384;
}

static int spend_host(void *arg)
{
	uint64_t limit;
	int fd, other;

	(void)arg;
	MUST(!become(NOBODY));
	fd = card_open();
	other = card_open();
	MUST(fd >= 0 && other >= 0);
	limit = ctx_number(fd, "vta-user-host-limit");
	MUST(limit < UINT64_MAX && limit > MIB);
	MUST(take_host(fd, limit + 4096) == -EDQUOT);
	MUST(!take_host(fd, MIB) && !take_host(other, MIB));
	MUST(counts_host(fd, 2 * MIB));
	/* The limit is of all files together. */
	MUST(take_host(fd, (limit & ~4095ull) - 2 * MIB + 4096) == -EDQUOT);
	close(other);
	return HOLDS(counts_host(fd, MIB)) ? 0 : 1;
}

TEST_F(limits, hold_for_host_memory)
{
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_host", "1"));
	EXPECT_EQ(0, in_child(spend_host, self));
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_host", "25"));
}

/*
 * A little memory, shown to the card so often that the lists are more than it. It is the card's:
 * of host memory, which is mapped each time, DMA_API_DEBUG allows no more than seven mappings.
 */
static int import_again_and_again(void *arg)
{
	struct vta_buf_alloc req = { .size = 2 * MIB, .flags = VTA_BUF_CARD };
	struct vta_buf_import last = {}, more;
	int fd, other, dmabuf, err;
	unsigned int n = 0;

	(void)arg;
	MUST(!become(NOBODY));
	fd = card_open();
	other = card_open();
	MUST(fd >= 0 && other >= 0 && !card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &req));
	dmabuf = buf_export(fd, req.handle, O_RDWR | O_CLOEXEC);
	MUST(dmabuf >= 0);
	while (n < 2000 && !(err = buf_import(fd, dmabuf, 0, &more))) {
		last = more;
		n++;
	}
	MUST(err == -EDQUOT && n);
	MUST(!buf_release(fd, last.handle) && !buf_import(fd, dmabuf, 0, &more));
	MUST(buf_import(fd, dmabuf, 0, &more) == -EDQUOT);
	close(fd);
	close(dmabuf);
	return HOLDS(ctx_number(other, "vta-user-host-bytes") == 0) ? 0 : 1;
}

TEST_F(limits, of_host_memory_count_what_imports_take)
{
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_host", "1"));
	EXPECT_EQ(0, in_child(import_again_and_again, self));
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_host", "25"));
}

TEST_F(limits, of_host_memory_do_not_hold_for_exempt_users)
{
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_host", "0"));
	EXPECT_EQ(0, take_host(fd, MIB));
	EXPECT_EQ(0, file_write(PARAMETERS "max_user_host", "25"));
	close(fd);
}

/* ---- what else keeps memory ---- */

/* Memory that only a dma-buf keeps is still its maker's. */
static int keep_by_dmabuf(void *arg)
{
	const struct _test_data_limits *self = arg;
	uint64_t mem = self->mem * 75 / 100 & ~4095ull;
	uint32_t handle = 0;
	int fd, dmabuf;

	MUST(!become(NOBODY));
	fd = card_open();
	MUST(fd >= 0 && !take(fd, mem, &handle));
	dmabuf = buf_export(fd, handle, O_CLOEXEC);
	MUST(dmabuf >= 0);
	close(fd);
	fd = card_open();
	MUST(take(fd, 4096, NULL) == -EDQUOT);
	close(dmabuf);
	MUST(!take(fd, mem, NULL));
	return 0;
}

TEST_F(limits, count_what_dmabufs_keep)
{
	EXPECT_EQ(0, in_child(keep_by_dmabuf, self));
}

TEST_F(limits, do_not_hold_for_exempt_users)
{
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, take(fd, self->mem, NULL));
	EXPECT_EQ(-ENOSPC, take(fd, 4096, NULL));
	for (uint64_t n = 0; n < self->queues; n++)
		ASSERT_EQ(0, take_queue(fd, NULL));
	EXPECT_EQ(-ENOSPC, take_queue(fd, NULL));
	close(fd);
}

/* ---- contexts ---- */

static int is_refused_a_context(void *arg)
{
	(void)arg;
	return HOLDS(card_open() == -EDQUOT) ? 0 : 1;
}

/* So many, and no more. */
static int open_most(int *fds, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		fds[i] = card_open();
		MUST(fds[i] >= 0);
	}
	return is_refused_a_context(NULL);
}

/* @arg: how many. */
static int open_all(void *arg)
{
	uint64_t n = *(uint64_t *)arg;
	int fds[256];

	MUST(!become(NOBODY) && !open_most(fds, n));
	/* Nor in another process of the user's. */
	MUST(!in_child(is_refused_a_context, NULL));
	/* Others have theirs. */
	MUST(card_attr("contexts_used") == n);
	/* A closed context is free again; a copy of a file is no context. */
	close(fds[0]);
	fds[0] = card_open();
	MUST(fds[0] >= 0 && dup(fds[0]) >= 0);
	return is_refused_a_context(NULL);
}

TEST_F(limits, hold_for_contexts)
{
	uint64_t most = self->contexts * 75 / 100, half = self->contexts / 2, one = 1;

	EXPECT_EQ(0, in_child(open_all, &most));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_contexts", "50"));
	EXPECT_EQ(0, in_child(open_all, &half));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_contexts", "0"));
	EXPECT_EQ(0, in_child(open_all, &one));
}

/* Those whose card was reset count no more, though they are open. @full: notify when. */
static int open_again(uint64_t n, int full)
{
	struct vta_info info;
	int fds[2][256];

	MUST(!become(NOBODY) && !open_most(fds[0], n));
	MUST(write(full, "", 1) == 1);
	while (card_ioctl(fds[0][0], VTA_IOCTL_INFO, &info) != -ENODEV || card_lost(fds[0][0]) < 0)
		sleep_ms(5);
	if (open_most(fds[1], n))
		return 1;
	/* Closing them gives nothing back a second time. */
	for (uint64_t i = 0; i < n; i++)
		close(fds[0][i]);
	return is_refused_a_context(NULL);
}

TEST_F(limits, do_not_count_contexts_lost_by_a_reset)
{
	uint64_t most = self->contexts * 75 / 100;
	int full[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(full));
	pid = fork();
	if (!pid)
		_exit(open_again(most, full[1]));
	close(full[1]);
	EXPECT_EQ(1, read(full[0], &byte, 1));
	close(full[0]);
	EXPECT_EQ(0, card_reset());
	EXPECT_EQ(0, child_end(pid));
}

TEST_F(limits, of_contexts_do_not_hold_for_exempt_users)
{
	int fds[256];
	uint64_t n;

	ASSERT_GE(256, self->contexts);
	for (n = 0; n < self->contexts; n++) {
		fds[n] = card_open();
		ASSERT_LE(0, fds[n]);
	}
	EXPECT_EQ(-ENOSPC, card_open());
	while (n)
		close(fds[--n]);
}

struct allowed {
	uint64_t mem, queues;
};

static int take_what_is_allowed(void *arg)
{
	struct allowed *allowed = arg;
	int fd;

	MUST(!become(NOBODY));
	fd = card_open();
	MUST(fd >= 0);
	MUST(!allowed->mem || !take(fd, allowed->mem, NULL));
	MUST(take(fd, 4096, NULL) == -EDQUOT);
	for (uint64_t queues = 0; queues < allowed->queues; queues++)
		MUST(!take_queue(fd, NULL));
	MUST(take_queue(fd, NULL) == -EDQUOT);
	return 0;
}

TEST_F(limits, can_be_changed)
{
	struct allowed none = { 0, 1 }, half = { self->mem / 2, self->queues / 2 };

	ASSERT_EQ(0, file_write(PARAMETERS "max_user_mem", "0"));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_queues", "0"));
	EXPECT_EQ(0, in_child(take_what_is_allowed, &none));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_mem", "50"));
	ASSERT_EQ(0, file_write(PARAMETERS "max_user_queues", "50"));
	EXPECT_EQ(0, in_child(take_what_is_allowed, &half));
}

TEST_HARNESS_MAIN
