// SPDX-License-Identifier: Apache-2.0
/*
 * space.c - the process's address space on the card, and the memory in it
 *
 * Memory is made by the driver and at once made a dma-buf, which the CPU maps:
 * it is the dma-buf that outlives a reset of the card, and is put to its old
 * address in the new context. File descriptors are the program's too, so there
 * is a limit to how many are used for this.
 */
#include <errno.h>
#include <search.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "report.h"
#include "space.h"

/* After a reset each takes two descriptors: the dma-buf's, and its buffer's own. */
#define DMABUFS_MAX	128

/* A reset takes up to a second (docs/hardware.md, section 4). */
#define OPEN_TRIES	300
#define OPEN_PAUSE_NS	10000000
/* Another reset may come while what the last one did is put right; not for ever. */
#define RESETS_MAX	5

/* Bytes of the name by which the card is opened again; not its index, which may change. */
#define NAME_MAX_CARD	64

static struct {
	pthread_rwlock_t lock;		/* Protects: all of it, and every struct mem */
	struct vtadev *dev;		/* NULL: no holders */
	unsigned int generation;	/* of @dev */
	unsigned int holders;		/* handles and memory */
	char card[NAME_MAX_CARD];
	void *by_ptr, *by_addr;		/* trees of struct mem (tsearch) */
	unsigned int dmabufs;
} space = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static atomic_int owner;		/* process that has opened @space.dev, or 0 */

bool space_is_parents(const char *call)
{
	pid_t pid = atomic_load(&owner);

	if (!pid || pid == getpid())
		return false;
	if (call)
		report("%s: the card was opened by the parent process, before fork(): use it "
		       "there, or call execve(2) first", call);
	return true;
}

static int compare(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
	if (a < b)
		return b - a < a_size ? 0 : -1;
	return a - b < b_size ? 0 : 1;
}

static int compare_ptr(const void *a, const void *b)
{
	const struct mem *x = a, *y = b;

	return compare((uintptr_t)x->ptr, x->size, (uintptr_t)y->ptr, y->size);
}

static int compare_addr(const void *a, const void *b)
{
	const struct mem *x = a, *y = b;

	return compare(x->addr, x->size, y->addr, y->size);
}

static const struct mem *find_mem(const struct mem *key, void *const *root,
				  int (*cmp)(const void *a, const void *b))
{
	struct mem *const *found = tfind(key, root, cmp);

	return found ? *found : NULL;
}

const struct mem *space_find_ptr(const void *ptr)
{
	const struct mem key = { .ptr = (char *)ptr, .size = 1 };

	return find_mem(&key, &space.by_ptr, compare_ptr);
}

const struct mem *space_find_addr(uint32_t addr)
{
	const struct mem key = { .addr = addr, .size = 1 };

	return find_mem(&key, &space.by_addr, compare_addr);
}

struct vtadev *space_enter(unsigned int *generation)
{
	pthread_rwlock_rdlock(&space.lock);
	*generation = space.generation;
	return space.dev;
}

void space_leave(void)
{
	pthread_rwlock_unlock(&space.lock);
}

/* A card in reset comes back soon, and one that @was_there may. */
static int open_patiently(const char *which, bool was_there, struct vtadev **dev)
{
	const struct timespec pause = { .tv_nsec = OPEN_PAUSE_NS };
	int err;

	for (int i = 0; i < OPEN_TRIES; i++) {
		err = vtadev_open(which, dev);
		if (err != -ENODEV && !(err == -ENOENT && was_there))
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

static int open_first(void)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	int err = open_patiently(NULL, false, &space.dev);

	if (!err)
		return 0;
	vtadev_open_text(NULL, why, sizeof(why));
	report("%s", why);
	return -SPACE_SAID;
}

static int hold_locked(void)
{
	const struct vtadev_card *card;
	int err;

	if (!space.dev) {
		err = open_first();
		if (err)
			return err;
		card = &vtadev_info(space.dev)->card;
		snprintf(space.card, sizeof(space.card), "%s",
			 *card->pci ? card->pci : card->node);
		space.generation++;
		atomic_store(&owner, getpid());
	}
	space.holders++;
	return 0;
}

static void drop_locked(void)
{
	if (--space.holders)
		return;
	vtadev_close(space.dev);
	space.dev = NULL;
	atomic_store(&owner, 0);
}

int space_hold(void)
{
	int err;

	pthread_rwlock_wrlock(&space.lock);
	err = hold_locked();
	pthread_rwlock_unlock(&space.lock);
	return err;
}

void space_drop(void)
{
	pthread_rwlock_wrlock(&space.lock);
	drop_locked();
	pthread_rwlock_unlock(&space.lock);
}

const char *space_strerror(int err)
{
	if (err == -EOPNOTSUPP)
		return "the card was reset, and the process had too many pieces of memory "
		       "for them to be kept: start it again";
	return vtadev_strerror(err);
}

void space_lost_text(unsigned int generation, char *text, size_t size)
{
	struct vtadev_lost lost;

	pthread_rwlock_rdlock(&space.lock);
	if (space.dev && space.generation == generation && !vtadev_lost(space.dev, &lost))
		vtadev_lost_text(&lost, text, size);
	else	/* another thread has opened it again */
		snprintf(text, size, "the card was reset or removed");
	pthread_rwlock_unlock(&space.lock);
	/* Why; what to do about it is ours to do: the next run opens it again. */
	text[strcspn(text, ";")] = '\0';
}

/* ---- After a reset ---- */

struct move {
	struct vtadev *dev;
	int err;
};

/* For twalk_r(): each memory once, and then never mind the tree's shape. */
static bool first_visit(VISIT which)
{
	return which == preorder || which == leaf;
}

static void check_mem(const void *node, VISIT which, void *arg)
{
	const struct mem *mem = *(struct mem *const *)node;
	struct move *move = arg;

	if (first_visit(which) && mem->fd < 0)
		move->err = -EOPNOTSUPP;
}

/* Into the new context; the old one's buffer has no use any more. */
static void move_mem(const void *node, VISIT which, void *arg)
{
	struct mem *mem = *(struct mem *const *)node;
	struct move *move = arg;
	struct vtadev_buf *buf;

	if (!first_visit(which) || move->err)
		return;
	move->err = vtadev_buf_import_at(move->dev, mem->fd, 0, 0, mem->addr, &buf);
	if (move->err)
		return;
	vtadev_buf_free(mem->buf);
	mem->buf = buf;
}

static int recover_once(void)
{
	struct move move = { 0 };

	twalk_r(space.by_addr, check_mem, &move);
	if (!move.err)
		move.err = open_patiently(space.card, true, &move.dev);
	if (move.err)
		return move.err;
	twalk_r(space.by_addr, move_mem, &move);
	/*
	 * Should it fail half way, the buffers are of two contexts, and the old
	 * one returns -ENODEV again: the next attempt moves all of them.
	 */
	if (move.err) {
		vtadev_close(move.dev);
		return move.err;
	}
	vtadev_close(space.dev);
	space.dev = move.dev;
	space.generation++;
	return 0;
}

static int recover_locked(void)
{
	int err = -ENODEV;

	for (int i = 0; err == -ENODEV && i < RESETS_MAX; i++)
		err = recover_once();
	return err;
}

int space_recover(unsigned int generation)
{
	int err = 0;

	pthread_rwlock_wrlock(&space.lock);
	/* Otherwise another thread was first. */
	if (space.dev && space.generation == generation)
		err = recover_locked();
	pthread_rwlock_unlock(&space.lock);
	return err;
}

/* ---- Memory ---- */

/* A dma-buf of it, mapped; or no dma-buf, and mapped as the buffer it is. */
static int map_mem(struct mem *mem)
{
	void *ptr = MAP_FAILED;
	int err;

	mem->fd = -1;
	if (space.dmabufs < DMABUFS_MAX && !vtadev_buf_export(mem->buf, 0, &mem->fd)) {
		ptr = mmap(NULL, mem->size, PROT_READ | PROT_WRITE, MAP_SHARED, mem->fd, 0);
		if (ptr == MAP_FAILED) {
			close(mem->fd);
			mem->fd = -1;
		}
	}
	if (ptr == MAP_FAILED) {
		err = vtadev_buf_map(mem->buf, &ptr);
		if (err)
			return err;
	} else {
		space.dmabufs++;
	}
	mem->ptr = ptr;
	return 0;
}

static void unmap_mem(const struct mem *mem)
{
	if (mem->fd < 0)
		return;
	munmap(mem->ptr, mem->size);
	close(mem->fd);
	space.dmabufs--;
}

static int insert_mem(struct mem *mem)
{
	if (!tsearch(mem, &space.by_ptr, compare_ptr))
		return -ENOMEM;
	if (!tsearch(mem, &space.by_addr, compare_addr)) {
		tdelete(mem, &space.by_ptr, compare_ptr);
		return -ENOMEM;
	}
	return 0;
}

static int make_mem(struct mem *mem)
{
	size_t align = vtadev_info(space.dev)->elem_bytes_max;
	int err;

	/* A page at least: what is aligned to less is aligned to that. */
	err = vtadev_buf_alloc_at(space.dev, mem->size, VTADEV_HOST,
				  align > VTA_PAGE_SIZE ? align : 0, 0, &mem->buf);
	if (err)
		return err;
	mem->addr = vtadev_buf_addr(mem->buf);
	err = map_mem(mem);
	if (!err) {
		err = insert_mem(mem);
		if (err)
			unmap_mem(mem);
	}
	if (err)
		vtadev_buf_free(mem->buf);
	return err;
}

static int alloc_locked(struct mem *mem)
{
	int err = hold_locked();

	if (err)
		return err;
	err = make_mem(mem);
	for (int i = 0; err == -ENODEV && i < RESETS_MAX; i++) {
		err = recover_locked();
		if (err)
			break;
		err = make_mem(mem);
	}
	if (err)
		drop_locked();
	return err;
}

int space_alloc(size_t size, void **out)
{
	struct mem *mem = calloc(1, sizeof(*mem));
	int err;

	if (!mem)
		return -ENOMEM;
	mem->size = size ? size : 1;
	pthread_rwlock_wrlock(&space.lock);
	err = alloc_locked(mem);
	pthread_rwlock_unlock(&space.lock);
	if (err)
		free(mem);
	else
		*out = mem->ptr;
	return err;
}

static void free_locked(struct mem *mem)
{
	tdelete(mem, &space.by_ptr, compare_ptr);
	tdelete(mem, &space.by_addr, compare_addr);
	unmap_mem(mem);
	vtadev_buf_free(mem->buf);
	free(mem);
	drop_locked();
}

int space_free(void *ptr)
{
	struct mem *mem;
	int err = 0;

	pthread_rwlock_wrlock(&space.lock);
	mem = (struct mem *)space_find_ptr(ptr);
	if (mem && mem->ptr == ptr)
		free_locked(mem);
	else
		err = -ENOENT;
	pthread_rwlock_unlock(&space.lock);
	return err;
}
