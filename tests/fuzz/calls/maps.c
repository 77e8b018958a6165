// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state.h"

static uint64_t an_offset(struct fuzz_file *f, const struct op *op)
{
	const struct fuzz_queue *q = the_queue(f, op);

	switch (op->d % 5) {
	case 0:
		return q->made.ring_offset;
	case 1:
		return q->made.status_offset;
	case 2:
		return q->made.doorbell_offset;
	case 3:
		return the_buf(f, op)->offset;
	default:
		return op->e & ~0xfffull;
	}
}

void op_map(struct state *s, const struct op *op)
{
	static const int protections[] = {
		PROT_READ | PROT_WRITE, PROT_READ, PROT_WRITE, PROT_NONE,
		PROT_READ | PROT_EXEC,
	};
	struct fuzz_file *f = the_file(s, op);
	size_t size = the_size(op->d >> 8 & 0xff, op->e) & 0x3ffffff;
	uint64_t more = op->d >> 24 & 3;
	void *ptr;

	ptr = mmap(NULL, size, protections[op->c % ARRAY_LEN(protections)],
		   op->c >> 4 == 0xf ? MAP_PRIVATE : MAP_SHARED, f->fd,
		   (off_t)(an_offset(f, op) + (more << 12)));
	if (ptr != MAP_FAILED)
		keep_map(s, ptr, size);
}

static struct fuzz_map *the_map(struct state *s, const struct op *op)
{
	return &s->maps[op->b % (s->nr_maps && s->nr_maps < MAPS ? s->nr_maps : MAPS)];
}

/* All of it, or one half, which splits it. */
void op_unmap(struct state *s, const struct op *op)
{
	struct fuzz_map *map = the_map(s, op);
	size_t half;

	if (!own_map(map))
		return;
	half = map->size / 2 & ~0xfffull;
	if (op->c & 1 && half && map->ptr) {
		munmap((char *)map->ptr + half, map->size - half);
		map->size = half;
	} else if (map->ptr) {
		munmap((void *)map->ptr, map->size);
		map->ptr = 0;
	}
	disown_map(map);
}

struct touch {
	volatile uint32_t *at;
	const struct op *op;
};

static void touch(void *arg)
{
	const struct touch *t = arg;
	uint32_t value = *t->at;

	if (t->op->c & 1)
		*t->at = t->op->c & 2 ? value + 1 : (uint32_t)t->op->e;
}

static void touch_map(struct state *s, const struct op *op)
{
	struct fuzz_map *map = the_map(s, op);
	struct touch t = { .op = op };

	if (!own_map(map))
		return;
	if (map->ptr && map->size >= 4) {
		t.at = (volatile uint32_t *)(map->ptr + (op->d % map->size & ~3ull));
		daring(touch, &t);
	}
	disown_map(map);
}

void op_touch(struct state *s, const struct op *op)
{
	touch_map(s, op);
}

void op_protect(struct state *s, const struct op *op)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_WILLNEED, MADV_HUGEPAGE,
		MADV_DONTDUMP, MADV_FREE, MADV_POPULATE_READ, MADV_POPULATE_WRITE,
	};
	struct fuzz_map *map = the_map(s, op);
	size_t more = (op->d & 1) * 4096;
	void *ptr, *moved;

	if (!own_map(map))
		return;
	ptr = (void *)map->ptr;
	switch (ptr ? op->c % 4 : 4) {
	case 0:
		mprotect(ptr, map->size, (int)(op->d & (PROT_READ | PROT_WRITE | PROT_EXEC)));
		break;
	case 1:
		mlock(ptr, map->size);
		break;
	case 2:
		madvise(ptr, map->size, advices[op->d % ARRAY_LEN(advices)]);
		break;
	case 3:
		moved = mremap(ptr, map->size, map->size + more, MREMAP_MAYMOVE);
		if (moved == MAP_FAILED)
			break;
		map->ptr = (uintptr_t)moved;
		map->size += more;
		break;
	}
	disown_map(map);
}

/* A child has what is inherited, uses it and goes. Takes long, so not too often. */
void op_fork(struct state *s, const struct op *op)
{
	pid_t pid;

	if (op->c % 16 || !on_main_thread())
		return;
	pid = fork();
	if (!pid) {
		touch_map(s, op);
		op_submit(s, op);
		op_wait(s, op);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) != pid)
		;
}
