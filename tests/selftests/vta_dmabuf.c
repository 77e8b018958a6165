// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_dmabuf - buffers shared by contexts, processes and drivers, also when one of these ends
 * (kmod/vta_export.c, kmod/vta_import.c)
 */
#include <sys/socket.h>

#include "vta_foreign.h"
#include "vta_harness.h"

#define SIZE		(3 * MIB)

static bool usage_returns(const struct usage *before)
{
	return usage_is(before) && !card_attr("host_bytes");
}

static void *map_dmabuf(int fd, int prot)
{
	return mmap(NULL, SIZE, prot, MAP_SHARED, fd, 0);
}

static void scribble(volatile void *ptr, unsigned int seed)
{
	volatile uint32_t *words = ptr;

	for (size_t i = 0; i < SIZE / sizeof(*words); i++)
		words[i] = (uint32_t)i * 2654435761u + seed;
	/* Card memory is written combined: out, before another mapping is read. */
	__sync_synchronize();
}

static bool is_scribbled(const volatile void *ptr, unsigned int seed)
{
	const volatile uint32_t *words = ptr;

	for (size_t i = 0; i < SIZE / sizeof(*words); i++)
		if (words[i] != (uint32_t)i * 2654435761u + seed)
			return false;
	return true;
}

/*
 * Returns true if the card sees at @addr of the context the bytes at @ptr, and the other way
 * round. Ends with the buffer scribbled with @seed + 1.
 */
static bool is_shared(int fd, void *ptr, uint32_t addr, unsigned int seed)
{
	struct mem mem;
	struct queue q;
	bool good;

	if (queue_open(fd, &q, NULL) || mem_alloc(fd, &mem, SIZE, VTA_BUF_HOST, 0))
		return false;
	scribble(ptr, seed);
	good = !queue_do(&q, desc_copy(mem.addr, addr, SIZE)) && is_scribbled(mem.ptr, seed);
	scribble(mem.ptr, seed + 1);
	good = !queue_do(&q, desc_copy(addr, mem.addr, SIZE)) && good &&
	       is_scribbled(ptr, seed + 1);
	return !mem_free(&mem) && !queue_close(&q) && good;
}

/* ---- between contexts of this driver ---- */

FIXTURE(share) {
	struct usage before;
	int a, b;		/* two contexts */
	struct mem mem;		/* of the first */
};

FIXTURE_VARIANT(share) {
	uint32_t kind;
};

FIXTURE_VARIANT_ADD(share, host) { .kind = VTA_BUF_HOST };
FIXTURE_VARIANT_ADD(share, card) { .kind = VTA_BUF_CARD };

FIXTURE_SETUP(share)
{
	self->before = card_usage();
	ASSERT_EQ(0, card_attr("host_bytes"));
	self->a = card_open();
	self->b = card_open();
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	ASSERT_EQ(0, mem_alloc(self->a, &self->mem, SIZE, variant->kind, 0));
}

FIXTURE_TEARDOWN(share)
{
	munmap(self->mem.ptr, SIZE);
	close(self->a);
	close(self->b);
	EXPECT_TRUE(usage_returns(&self->before));
}

TEST_F(share, two_contexts_see_the_same)
{
	int dmabuf = buf_export(self->a, self->mem.handle, O_RDWR | O_CLOEXEC);
	struct vta_buf_import req;
	void *ptr;

	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(FD_CLOEXEC, fcntl(dmabuf, F_GETFD));
	ASSERT_EQ(0, buf_import(self->b, dmabuf, 0, &req));
	EXPECT_EQ(SIZE, req.size);
	EXPECT_EQ(variant->kind, req.flags);
	EXPECT_EQ(0, req.addr % VTA_PAGE_SIZE);
	EXPECT_EQ(SIZE, ctx_number(self->b, "vta-imported-bytes"));
	EXPECT_EQ(0, ctx_number(self->b, "vta-host-bytes"));
	EXPECT_EQ(0, ctx_number(self->b, "vta-card-bytes"));
	/* It is there only once. */
	EXPECT_EQ(self->before.mem_free - (variant->kind == VTA_BUF_CARD ? SIZE : 0),
		  card_usage().mem_free);

	EXPECT_TRUE(is_shared(self->b, self->mem.ptr, (uint32_t)req.addr, 1));
	ptr = map_dmabuf(dmabuf, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, ptr);
	EXPECT_TRUE(is_scribbled(ptr, 2));
	EXPECT_TRUE(is_shared(self->a, ptr, self->mem.addr, 3));
	EXPECT_TRUE(is_shared(self->b, ptr, (uint32_t)req.addr, 5));

	/* A context that frees its buffer does not take the memory from others. */
	EXPECT_EQ(0, buf_release(self->a, self->mem.handle));
	close(dmabuf);
	EXPECT_TRUE(is_shared(self->b, ptr, (uint32_t)req.addr, 7));
	EXPECT_EQ(0, buf_release(self->b, req.handle));
	EXPECT_EQ(0, ctx_number(self->b, "vta-imported-bytes"));
	EXPECT_TRUE(is_scribbled(ptr, 8));
	munmap(ptr, SIZE);
}

TEST_F(share, context_imports_its_own_dmabuf)
{
	int dmabuf = buf_export(self->a, self->mem.handle, O_RDWR | O_CLOEXEC);
	struct vta_buf_import req = {
		.fd = dmabuf, .flags = VTA_BUF_FIXED, .addr = 0x30000000,
	};

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, card_ioctl(self->a, VTA_IOCTL_BUF_IMPORT, &req));
	EXPECT_EQ(0x30000000, req.addr);
	EXPECT_TRUE(is_shared(self->a, self->mem.ptr, (uint32_t)req.addr, 1));
	req = (struct vta_buf_import) {
		.fd = dmabuf, .flags = VTA_BUF_FIXED, .addr = 0x30001000,
	};
	EXPECT_EQ(-EEXIST, card_ioctl(self->a, VTA_IOCTL_BUF_IMPORT, &req));
	close(dmabuf);
}

struct peer {
	int sock;
	uint32_t kind;
};

/* Makes a buffer, hands it over, and is gone. */
static int give_and_end(void *arg)
{
	struct peer *peer = arg;
	int fd = card_open(), dmabuf;
	struct mem mem;

	if (fd < 0 || mem_alloc(fd, &mem, SIZE, peer->kind, 0))
		return 1;
	scribble(mem.ptr, 11);
	dmabuf = buf_export(fd, mem.handle, O_RDWR | O_CLOEXEC);
	return dmabuf < 0 || fd_send(peer->sock, dmabuf);
}

TEST_F(share, outlives_the_process_that_made_it)
{
	struct vta_buf_import req;
	int socks[2], dmabuf;
	struct peer peer;
	void *ptr;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks));
	peer = (struct peer) { .sock = socks[1], .kind = variant->kind };
	ASSERT_EQ(0, in_child(give_and_end, &peer));
	dmabuf = fd_receive(socks[0]);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, buf_import(self->b, dmabuf, 0, &req));
	ptr = map_dmabuf(dmabuf, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, ptr);
	close(dmabuf);
	EXPECT_TRUE(is_scribbled(ptr, 11));
	EXPECT_TRUE(is_shared(self->b, ptr, (uint32_t)req.addr, 12));
	munmap(ptr, SIZE);
	close(socks[0]);
	close(socks[1]);
}

TEST_F(share, descriptor_alone_keeps_the_memory)
{
	int dmabuf = buf_export(self->a, self->mem.handle, O_CLOEXEC);

	ASSERT_LE(0, dmabuf);
	munmap(self->mem.ptr, SIZE);
	close(self->a);
	close(self->b);
	EXPECT_FALSE(usage_returns(&self->before));
	EXPECT_EQ(variant->kind == VTA_BUF_CARD ? 0 : SIZE, card_attr("host_bytes"));
	/* And the module, too. */
	EXPECT_EQ(-1, syscall(SYS_delete_module, "vta", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	close(dmabuf);
	EXPECT_TRUE(usage_returns(&self->before));
}

TEST_F(share, dmabuf_for_reading_cannot_be_written)
{
	int dmabuf = buf_export(self->a, self->mem.handle, O_CLOEXEC);
	struct vta_buf_import req;
	struct queue q;
	void *ptr;

	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(MAP_FAILED, map_dmabuf(dmabuf, PROT_READ | PROT_WRITE));
	ptr = map_dmabuf(dmabuf, PROT_READ);
	ASSERT_NE(MAP_FAILED, ptr);
	EXPECT_NE(0, mprotect(ptr, SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EACCES, buf_import(self->b, dmabuf, 0, &req));
	ASSERT_EQ(0, buf_import(self->b, dmabuf, VTA_BUF_READONLY, &req));
	/* There is no way around by the importer's file. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->b,
				   (off_t)req.handle << VTA_PAGE_SHIFT));
	EXPECT_EQ(-EOPNOTSUPP, buf_export(self->b, req.handle, O_RDWR | O_CLOEXEC));
	scribble(self->mem.ptr, 1);
	ASSERT_EQ(0, queue_open(self->b, &q, NULL));
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill((uint32_t)req.addr, 7, 4)));
	EXPECT_TRUE(is_scribbled(ptr, 1));
	munmap(ptr, SIZE);
	close(dmabuf);
	queue_unmap(&q);
}

TEST_F(share, readonly_buffers_are_exported_for_reading_only)
{
	struct mem mem;
	int dmabuf;

	ASSERT_EQ(0, mem_alloc(self->a, &mem, SIZE, variant->kind | VTA_BUF_READONLY, 0));
	EXPECT_EQ(-EACCES, buf_export(self->a, mem.handle, O_RDWR | O_CLOEXEC));
	dmabuf = buf_export(self->a, mem.handle, O_CLOEXEC);
	EXPECT_LE(0, dmabuf);
	close(dmabuf);
	EXPECT_EQ(0, mem_free(&mem));
}

/* An import of lost memory is ENOENT. */
TEST_F(share, reset_loses_card_memory_and_keeps_host_memory)
{
	int dmabuf = buf_export(self->a, self->mem.handle, O_RDWR | O_CLOEXEC);
	int expected = variant->kind == VTA_BUF_CARD ? -ENOENT : 0;
	struct vta_buf_import req;
	void *ptr;
	int fd;

	ASSERT_LE(0, dmabuf);
	ptr = map_dmabuf(dmabuf, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, ptr);
	scribble(ptr, 1);
	ASSERT_EQ(0, buf_import(self->b, dmabuf, 0, &req));
	ASSERT_EQ(0, card_reset_function());

	EXPECT_EQ(-ENODEV, buf_import(self->b, dmabuf, 0, &req));
	fd = card_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(expected, buf_import(fd, dmabuf, 0, &req));
	if (variant->kind == VTA_BUF_CARD) {
		EXPECT_EQ(0, *(volatile uint32_t *)(ptr + SIZE - 4));
		*(volatile uint32_t *)ptr = 1;
	} else {
		EXPECT_TRUE(is_scribbled(ptr, 1));
		EXPECT_TRUE(is_shared(fd, ptr, (uint32_t)req.addr, 2));
	}
	munmap(ptr, SIZE);
	close(dmabuf);
	close(fd);
}

/* ---- Mappings of lost memory, which a user has made many of ---- */

#define PAGE		16384	/* of any kernel */
#define MAPPINGS	20000u	/* at most, on a kernel that makes them in MAPPING_NS */
#define MAPPING_NS	2000000000ll

/* Memory that the user's process and the test share. */
struct mapper {
	_Atomic bool ready, asked;
	uint32_t last;		/* what the last mapping shows */
	pid_t pid;
};

/* Exports a page of card memory; the dma-buf, or an error. */
static int export_page(uint32_t word)
{
	int fd = card_open(), dmabuf;
	struct mem mem;

	MUST(fd >= 0 && !mem_alloc(fd, &mem, PAGE, VTA_BUF_CARD, 0));
	*(volatile uint32_t *)mem.ptr = word;
	dmabuf = buf_export(fd, mem.handle, O_RDWR | O_CLOEXEC);
	munmap(mem.ptr, PAGE);
	close(fd);
	return dmabuf;
}

static int maps_often(void *arg)
{
	struct mapper *m = arg;
	int64_t end = now_ns() + MAPPING_NS;
	volatile uint32_t *last = NULL;
	int dmabuf;

	MUST(!setresuid(NOBODY, 0, 0));
	dmabuf = export_page(1);
	MUST(dmabuf >= 0);
	for (unsigned int i = 0; !i || (i < MAPPINGS && now_ns() < end); i++) {
		last = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
		MUST((void *)last != MAP_FAILED && *last == 1);
	}
	m->ready = true;
	while (!m->asked)
		;
	m->last = *last;
	return 0;
}

static int resets_card(void *arg)
{
	(void)arg;
	return -card_reset();
}

/* Returns true if the mapping of this process was revoked before all of the other user's. */
static bool is_revoked_before_all_of(struct mapper *m)
{
	volatile uint32_t *word;
	pid_t resetter;
	int dmabuf;
	bool lost;

	m->ready = false;
	m->asked = false;
	m->pid = child_start(maps_often, m);
	MUST(SOON(m->ready));
	dmabuf = export_page(1);
	word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	MUST((void *)word != MAP_FAILED && *word == 1);
	resetter = child_start(resets_card, NULL);
	lost = SOON(!*word);
	m->asked = true;
	MUST(!child_end(m->pid) && !child_end(resetter));
	munmap((void *)word, PAGE);
	close(dmabuf);
	return lost && m->last;
}

/* On a busy machine all of them may have been revoked before the process looks. */
TEST(mappings_of_a_user_do_not_delay_the_loss_for_another)
{
	struct mapper *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool before = false;

	ASSERT_NE(MAP_FAILED, m);
	for (int tries = 0; tries < 10 && !before; tries++)
		before = is_revoked_before_all_of(m);
	EXPECT_TRUE(before);
	munmap(m, sizeof(*m));
}

TEST_F(share, another_card_imports_host_memory_alone)
{
	int dmabuf = buf_export(self->a, self->mem.handle, O_RDWR | O_CLOEXEC);
	int fd = open("/dev/vta1", O_RDWR | O_CLOEXEC);
	struct vta_buf_import req;

	ASSERT_LE(0, dmabuf);
	if (fd < 0)
		SKIP(close(dmabuf); return, "there is only one card");
	if (variant->kind == VTA_BUF_CARD) {
		EXPECT_EQ(-EOPNOTSUPP, buf_import(fd, dmabuf, 0, &req));
	} else {
		ASSERT_EQ(0, buf_import(fd, dmabuf, 0, &req));
		EXPECT_TRUE(is_shared(fd, self->mem.ptr, (uint32_t)req.addr, 1));
	}
	close(fd);
	close(dmabuf);
}

TEST_F(share, another_driver_imports_host_memory_alone)
{
	int expected = variant->kind == VTA_BUF_CARD ? -EOPNOTSUPP : 0;
	int dmabuf = buf_export(self->a, self->mem.handle, O_RDWR | O_CLOEXEC);
	int readonly = buf_export(self->a, self->mem.handle, O_CLOEXEC);
	int ret;

	ASSERT_LE(0, dmabuf);
	ASSERT_LE(0, readonly);
	ret = foreign_attach(dmabuf);
	if (ret == -ENODEV)
		SKIP(close(dmabuf); close(readonly); return, "no vgem");
	EXPECT_EQ(expected, ret);
	/* It would write. (As long as vgem mapped what it imports.) */
	if (kernel_is_before(6, 16))
		EXPECT_EQ(expected ? expected : -EACCES, foreign_attach(readonly));
	close(dmabuf);
	close(readonly);
}

TEST_F(share, malformed_requests_are_refused)
{
	int dmabuf = buf_export(self->a, self->mem.handle, O_RDWR | O_CLOEXEC);
	struct vta_buf_export export = { .handle = self->mem.handle, .pad = 1 };
	struct vta_buf_import import;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct queue q;
	const struct vta_buf_import bad[] = {
		{ .pad = 1 },
		{ .flags = VTA_BUF_CARD },
		{ .flags = 0x20000000 },
		{ .align = 3 },
		{ .addr = 4096 },
		{ .flags = VTA_BUF_FIXED },
		{ .flags = VTA_BUF_FIXED, .addr = 4095 },
		{ .flags = VTA_BUF_FIXED, .addr = (1ull << 32) - 4096 },
		{ .flags = VTA_BUF_FIXED, .addr = UINT64_MAX - 4095 },
	};

	ASSERT_LE(0, dmabuf);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		import = bad[i];
		import.fd = dmabuf;
		EXPECT_EQ(-EINVAL, card_ioctl(self->b, VTA_IOCTL_BUF_IMPORT, &import)) {
			TH_LOG("request %u", i);
		}
	}
	EXPECT_EQ(-EBADF, buf_import(self->b, -1, 0, &import));
	EXPECT_EQ(-EINVAL, buf_import(self->b, null, 0, &import));
	EXPECT_EQ(-EINVAL, buf_import(self->b, self->a, 0, &import));

	EXPECT_EQ(-EINVAL, card_ioctl(self->a, VTA_IOCTL_BUF_EXPORT, &export));
	EXPECT_EQ(-EINVAL, buf_export(self->a, self->mem.handle, O_WRONLY));
	EXPECT_EQ(-EINVAL, buf_export(self->a, self->mem.handle, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(-ENOENT, buf_export(self->a, 0, O_CLOEXEC));
	EXPECT_EQ(-ENOENT, buf_export(self->b, self->mem.handle, O_CLOEXEC));
	/* Rings are not for sharing. */
	ASSERT_EQ(0, queue_open(self->b, &q, NULL));
	EXPECT_EQ(-ENOENT, buf_export(self->b, q.create.ring_addr >> VTA_PAGE_SHIFT, O_CLOEXEC));
	EXPECT_EQ(0, queue_close(&q));
	close(null);
	close(dmabuf);
}

TEST_F(share, export_whose_answer_cannot_be_written_leaves_no_descriptor)
{
	struct vta_buf_export *req = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int next = dup(0);

	req->handle = self->mem.handle;
	req->flags = O_CLOEXEC;
	ASSERT_EQ(0, mprotect(req, 4096, PROT_READ));
	close(next);
	EXPECT_EQ(-EFAULT, card_ioctl(self->a, VTA_IOCTL_BUF_EXPORT, req));
	EXPECT_EQ(next, dup(0));
	close(next);
	munmap(req, 4096);
}

struct racer {
	pthread_t thread;
	int fd, dmabuf;
	unsigned int failed;
};

static void *import_again(void *arg)
{
	struct racer *racer = arg;
	struct vta_buf_import req;

	for (unsigned int i = 0; i < 100; i++)
		racer->failed += buf_import(racer->fd, racer->dmabuf, 0, &req) ||
				 buf_release(racer->fd, req.handle);
	return NULL;
}

TEST_F(share, concurrent_imports_of_one_buffer_succeed)
{
	struct racer racers[4];

	for (unsigned int i = 0; i < ARRAY_SIZE(racers); i++) {
		racers[i] = (struct racer) {
			.fd = i % 2 ? self->a : self->b,
			.dmabuf = buf_export(self->a, self->mem.handle, O_RDWR | O_CLOEXEC),
		};
		ASSERT_LE(0, racers[i].dmabuf);
		ASSERT_EQ(0, pthread_create(&racers[i].thread, NULL, import_again, &racers[i]));
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(racers); i++) {
		pthread_join(racers[i].thread, NULL);
		EXPECT_EQ(0, racers[i].failed);
		close(racers[i].dmabuf);
	}
}

/* ---- memory of other drivers ---- */

FIXTURE(foreign) {
	struct usage before;
	int fd;
	int dmabuf;
	void *ptr;
};

FIXTURE_VARIANT(foreign) {
	enum foreign exporter;
};

FIXTURE_VARIANT_ADD(foreign, udmabuf) { .exporter = FOREIGN_UDMABUF };
FIXTURE_VARIANT_ADD(foreign, vgem) { .exporter = FOREIGN_VGEM };

FIXTURE_SETUP(foreign)
{
	self->before = card_usage();
	self->dmabuf = foreign_export(variant->exporter, SIZE);
	if (self->dmabuf != -ENODEV)
		ASSERT_LE(0, self->dmabuf);
	self->ptr = map_dmabuf(self->dmabuf, PROT_READ | PROT_WRITE);
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(foreign)
{
	close(self->fd);
	EXPECT_TRUE(usage_returns(&self->before));
}

TEST_F(foreign, card_and_exporter_see_the_same)
{
	struct vta_buf_import req;
	struct queue q;

	if (self->dmabuf < 0)
		SKIP(return, "this kernel has no such driver");
	ASSERT_EQ(0, buf_import(self->fd, self->dmabuf, 0, &req));
	EXPECT_EQ(SIZE, req.size);
	EXPECT_EQ(0, req.flags);
	EXPECT_EQ(SIZE, ctx_number(self->fd, "vta-imported-bytes"));
	EXPECT_TRUE(is_shared(self->fd, self->ptr, (uint32_t)req.addr, 1));
	/* The exporter goes, and the memory does not. */
	close(self->dmabuf);
	EXPECT_TRUE(is_shared(self->fd, self->ptr, (uint32_t)req.addr, 3));
	munmap(self->ptr, SIZE);
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(0, queue_do(&q, desc_fill((uint32_t)req.addr, 7, SIZE)));
	EXPECT_EQ(0, buf_release(self->fd, req.handle));
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill((uint32_t)req.addr, 7, SIZE)));
	queue_unmap(&q);
}

TEST_F(foreign, import_for_reading_cannot_be_written)
{
	struct vta_buf_import req;
	struct queue q;

	if (self->dmabuf < 0)
		SKIP(return, "this kernel has no such driver");
	ASSERT_EQ(0, buf_import(self->fd, self->dmabuf, VTA_BUF_READONLY, &req));
	scribble(self->ptr, 1);
	ASSERT_EQ(0, queue_open(self->fd, &q, NULL));
	EXPECT_EQ(-EIO, queue_do(&q, desc_fill((uint32_t)req.addr, 7, 4)));
	EXPECT_TRUE(is_scribbled(self->ptr, 1));
	EXPECT_EQ(-EOPNOTSUPP, buf_export(self->fd, req.handle, O_CLOEXEC));
	queue_unmap(&q);
}

TEST_F(foreign, memory_is_released_by_a_reset)
{
	struct vta_buf_import req;

	if (self->dmabuf < 0)
		SKIP(return, "this kernel has no such driver");
	ASSERT_EQ(0, buf_import(self->fd, self->dmabuf, 0, &req));
	ASSERT_EQ(0, card_reset_function());
	scribble(self->ptr, 1);
	EXPECT_TRUE(is_scribbled(self->ptr, 1));
	EXPECT_EQ(-ENODEV, buf_release(self->fd, req.handle));
}

TEST_HARNESS_MAIN
