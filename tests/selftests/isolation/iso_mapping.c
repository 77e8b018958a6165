// SPDX-License-Identifier: GPL-2.0-only
/*
 * iso_mapping - mmap(), mremap() and mprotect() show no memory of others
 */
#include "../vta_harness.h"
#include "wall.h"

/* The first offset of queues; those of device addresses are below. */
#define QUEUES_AT	(1ull << 32)

WALL_FIXTURE(mapping)

/* Maps and unmaps. */
static int try_map(int fd, uint64_t offset, size_t size, int prot, int flags)
{
	void *ptr = mmap(NULL, size, prot, flags, fd, (off_t)offset);

	if (ptr == MAP_FAILED)
		return -errno;
	munmap(ptr, size);
	return 0;
}

/* ---- offsets ---- */

/* In the attacker's file. */
TEST_F(mapping, of_the_victims_offsets_is_refused)
{
	const struct victim_view *view = self->wall.victim.view;
	const uint64_t offsets[] = {
		view->host_offset, view->card_offset, view->status_offset,
		view->doorbell_offset, VICTIM_PINNED,
	};
	static const int prots[] = { PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE };

	for (unsigned int i = 0; i < ARRAY_SIZE(offsets); i++)
		for (unsigned int k = 0; k < ARRAY_SIZE(prots); k++)
			EXPECT_EQ(-EINVAL, try_map(self->wall.fd, offsets[i], self->wall.q.page,
						   prots[k], MAP_SHARED));
}

/* Of all offsets near those in use, only those that the file's own ioctls gave work. */
TEST_F(mapping, of_guessed_offsets_is_refused)
{
	const struct vta_queue_create *q = &self->wall.q.create;
	const uint64_t own[] = {
		OWN_RW, OWN_RO, OWN_CODE, q->ring_offset, q->status_offset, q->doorbell_offset,
	};
	const uint64_t centres[] = {
		0, VICTIM_HOST, VICTIM_CARD, OWN_RW, OWN_RO, OWN_CODE, QUEUES_AT,
		1ull << 33, 1ull << 40, 1ull << 44, 1ull << 52, 1ull << 62,
	};
	unsigned int hits = 0, wrong = 0, i, k;
	const size_t page = self->wall.q.page;
	int64_t d;

	for (i = 0; i < ARRAY_SIZE(centres); i++) {
		for (d = -64; d < 2 * (int64_t)self->wall.info.queues + 64; d++) {
			uint64_t offset = centres[i] + (uint64_t)d * page;
			bool mine = false;

			if (try_map(self->wall.fd, offset, page, PROT_READ, MAP_SHARED))
				continue;
			for (k = 0; k < ARRAY_SIZE(own); k++)
				mine |= own[k] == offset;
			hits += mine;
			wrong += !mine;
		}
	}
	EXPECT_EQ(ARRAY_SIZE(own), hits);
	EXPECT_EQ(0, wrong);
}

/* Longer than what is there, up to what is the victim's. */
TEST_F(mapping, longer_than_the_memory_is_refused)
{
	const struct vta_queue_create *q = &self->wall.q.create;
	const size_t page = self->wall.q.page;
	int fd = self->wall.fd;

	EXPECT_EQ(-EINVAL, try_map(fd, OWN_RW, OWN_SIZE + page, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, OWN_RW, 1ull << 32, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, q->ring_offset, 2 * page, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, q->status_offset, 2 * page, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, q->doorbell_offset, 2 * page, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, q->doorbell_offset, 16 * page, PROT_READ, MAP_SHARED));
	/* A private copy would be of memory that it is not. */
	EXPECT_EQ(-EINVAL, try_map(fd, OWN_RW, page, PROT_READ | PROT_WRITE, MAP_PRIVATE));
	EXPECT_EQ(-EINVAL, try_map(fd, q->doorbell_offset, page, PROT_READ, MAP_PRIVATE));
}

/* ---- permissions ---- */

TEST_F(mapping, status_page_stays_readonly)
{
	const struct vta_queue_create *q = &self->wall.q.create;
	void *status = (void *)self->wall.q.status;
	const size_t page = self->wall.q.page;
	int fd = self->wall.fd, mem;
	uint64_t forged = 99;

	EXPECT_EQ(-EACCES, try_map(fd, q->status_offset, page, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(fd, q->status_offset, page, PROT_READ | PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(fd, q->status_offset, page, PROT_READ | PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(-1, mprotect(status, page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(status, page, PROT_READ | PROT_EXEC));
	/* A debugger may write to memory that the process itself may only read. */
	mem = open("/proc/self/mem", O_RDWR);
	ASSERT_LE(0, mem);
	EXPECT_GT(0, pwrite(mem, &forged, sizeof(forged), (off_t)(uintptr_t)status));
	close(mem);
	EXPECT_EQ(0, queue_seq(&self->wall.q));
	/* By a system call, as a buffer to be written. */
	mem = open("/dev/zero", O_RDONLY);
	EXPECT_EQ(-1, read(mem, status, 8));
	EXPECT_EQ(EFAULT, errno);
	close(mem);
}

static void *remap_of(const volatile void *ptr, size_t old, size_t new, int flags)
{
	return mremap((void *)ptr, old, new, flags);
}

/* Neither longer, nor twice, nor elsewhere in the file. */
TEST_F(mapping, does_not_grow_by_remapping)
{
	struct wall *w = &self->wall;
	const volatile void *maps[] = {
		w->q.status, w->q.doorbell, w->q.ring, w->rw.ptr, w->ro.ptr,
	};
	const size_t page = self->wall.q.page;

	for (unsigned int i = 0; i < ARRAY_SIZE(maps); i++) {
		size_t size = i < 3 ? page : OWN_SIZE;

		EXPECT_EQ(MAP_FAILED, remap_of(maps[i], size, size + page, 0));
		EXPECT_EQ(MAP_FAILED, remap_of(maps[i], size, size + page, MREMAP_MAYMOVE));
		EXPECT_EQ(MAP_FAILED, remap_of(maps[i], size, 1 << 30, MREMAP_MAYMOVE));
		EXPECT_EQ(MAP_FAILED, remap_of(maps[i], 0, page, MREMAP_MAYMOVE));
		/* MREMAP_DONTUNMAP */
		EXPECT_EQ(MAP_FAILED, remap_of(maps[i], size, size, MREMAP_MAYMOVE | 4));
	}
	EXPECT_EQ(0, queue_do(&w->q, desc_op(VTA_OP_NOP)));
}

TEST_F(mapping, does_not_move_within_the_file)
{
	const struct victim_view *view = self->wall.victim.view;
	const struct vta_queue_create *q = &self->wall.q.create;
	size_t page = self->wall.q.page;
	void *doorbell;

	/* One to lose: a call that fails may leave nothing there. */
	doorbell = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, self->wall.fd,
			(off_t)q->doorbell_offset);
	ASSERT_NE(MAP_FAILED, doorbell);
	EXPECT_EQ(-1, syscall(SYS_remap_file_pages, doorbell, page, 0,
			      view->doorbell_offset / page, 0));
	EXPECT_EQ(-1, syscall(SYS_remap_file_pages, doorbell, page, 0,
			      q->doorbell_offset / page + 2, 0));
	EXPECT_EQ(0, queue_do(&self->wall.q, desc_op(VTA_OP_NOP)));
}

/* A part that was unmapped is the process's no more; the rest shows what it did. */
TEST_F(mapping, unmapped_in_part_shows_the_same_pages)
{
	struct wall *w = &self->wall;
	const size_t page = self->wall.q.page;
	uint8_t *bytes = w->rw.ptr, *moved, *place;

	for (unsigned int i = 0; i < OWN_SIZE / page; i++)
		bytes[i * page] = (uint8_t)(i + 1);
	ASSERT_EQ(0, munmap(bytes + 3 * page, 2 * page));
	/* The end cannot grow back over the hole, nor beyond its own. */
	EXPECT_EQ(MAP_FAILED, mremap(bytes, 3 * page, 5 * page, 0));
	EXPECT_EQ(MAP_FAILED, mremap(bytes + 5 * page, OWN_SIZE - 5 * page, OWN_SIZE,
				     MREMAP_MAYMOVE));
	place = mmap(NULL, OWN_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(bytes + 5 * page, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	ASSERT_EQ(place, moved);
	ASSERT_EQ(0, queue_do(&w->q, desc_fill2d(OWN_RW, page, 0x50505050, 4, OWN_SIZE / page)));
	EXPECT_EQ(0x50, bytes[2 * page]);
	EXPECT_EQ(0x50, moved[0]);
	EXPECT_EQ(0x50, moved[page]);
	EXPECT_EQ(0x50, bytes[7 * page]);
	/* Untouched until now, on both sides of the holes: each shows its own page. */
	moved[page + 1] = 77;
	ASSERT_EQ(0, queue_do(&w->q, desc_copy(OWN_CODE, OWN_RW + 6 * page, 4)));
	EXPECT_EQ(77, ((uint8_t *)w->code.ptr)[1]);
	munmap(place, OWN_SIZE);
	w->rw.ptr = NULL;
}

/* ---- fork ---- */

static int ring_it(void *arg)
{
	struct wall *w = arg;

	*w->q.doorbell = 1;
	return 0;
}

/* The doorbell stays the parent's, even against madvise(). */
TEST_F(mapping, doorbell_is_not_inherited)
{
	struct wall *w = &self->wall;

	EXPECT_EQ(-1, madvise((void *)w->q.doorbell, self->wall.q.page, MADV_DOFORK));
	EXPECT_EQ(-EINTR, in_child(ring_it, w));	/* killed */
	EXPECT_EQ(0, queue_seq(&w->q));
	EXPECT_EQ(0, queue_do(&w->q, desc_op(VTA_OP_NOP)));
}

struct heir {
	struct wall *w;
	struct mem host, card;
	struct queue q;
	int go[2];
};

/* Sees its own memory alone, when the parent has closed or freed it. */
static int inherit(void *arg)
{
	struct heir *heir = arg;
	struct mem *mems[] = { &heir->host, &heir->card };
	char byte;

	close(heir->q.fd);
	if (read(heir->go[0], &byte, 1) != 1)
		return 1;
	for (unsigned int i = 0; i < ARRAY_SIZE(mems); i++) {
		const volatile uint8_t *bytes = mems[i]->ptr;

		if (bytes[0] != 42 || bytes[mems[i]->size - 1] != 43)
			return 2;
		if (secrets_in(mems[i]->ptr, mems[i]->size))
			return 3;
		memset(mems[i]->ptr, 0xbd, mems[i]->size);
	}
	if (!mprotect((void *)heir->q.status, heir->q.page, PROT_READ | PROT_WRITE))
		return 4;
	return le64toh(heir->q.status->status.seq) == 1 ? 0 : 5;
}

/* @undo: called by the parent while the child has the mappings */
static void leave(struct __test_metadata *_metadata, struct wall *w, void (*undo)(struct heir *))
{
	struct heir heir = { .w = w };
	int fd = card_open();
	pid_t pid;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &heir.q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &heir.host, HOARD_BYTES, VTA_BUF_HOST, 0));
	ASSERT_EQ(0, mem_alloc(fd, &heir.card, HOARD_BYTES, VTA_BUF_CARD, 0));
	*(uint8_t *)heir.host.ptr = 42;
	*(uint8_t *)heir.card.ptr = 42;
	((uint8_t *)heir.host.ptr)[HOARD_BYTES - 1] = 43;
	((uint8_t *)heir.card.ptr)[HOARD_BYTES - 1] = 43;
	ASSERT_EQ(0, queue_do(&heir.q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(0, pipe(heir.go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(inherit(&heir));
	undo(&heir);
	/* Freed memory would be the victim's by now. */
	ASSERT_EQ(0, victim_order(&w->victim, VICTIM_HOARD));
	ASSERT_EQ(1, write(heir.go[1], "", 1));
	EXPECT_EQ(0, child_end(pid));
	EXPECT_EQ(0, victim_progress(&w->victim, 2));
}

static void undo_close(struct heir *heir)
{
	munmap(heir->host.ptr, heir->host.size);
	munmap(heir->card.ptr, heir->card.size);
	queue_unmap(&heir->q);
	close(heir->q.fd);
}

static void undo_free(struct heir *heir)
{
	queue_close(&heir->q);
	mem_free(&heir->host);
	mem_free(&heir->card);
}

TEST_F(mapping, that_is_inherited_outlives_the_parents_close)
{
	leave(_metadata, &self->wall, undo_close);
}

TEST_F(mapping, that_is_inherited_outlives_the_parents_free)
{
	leave(_metadata, &self->wall, undo_free);
}

TEST_HARNESS_MAIN
