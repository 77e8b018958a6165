// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "state.h"

/* A thread that sleeps in a call is woken after that, and again. */
#define WAKE_MS		40
/* Another process is bringing the card back. */
#define NO_CARD_MS	20

static op_fn *const ops[] = {
	op_open, op_close, op_dup, op_info, op_raw, op_read,
	op_alloc, op_alloc, op_free, op_pin, op_export, op_import, op_dmabuf,
	op_map, op_map, op_unmap, op_touch, op_touch, op_protect, op_fork,
	op_create, op_create, op_destroy, op_submit, op_submit, op_ring, op_recover, op_fault,
	op_wait, op_wait_many, op_event, op_eventfd, op_poll,
	op_reset,
};

/* When the card is to fail, too. */
static op_fn *const breaking_ops[] = { op_break, op_break, op_mend, op_rebind };

static __thread sigjmp_buf *escape;
static __thread bool helper;
static struct kcov main_kcov, helper_kcov;

bool on_main_thread(void)
{
	return !helper;
}

static void on_fault(int signal)
{
	if (escape)
		siglongjmp(*escape, 1);
	_exit(128 + signal);
}

static void on_alarm(int signal)
{
	(void)signal;
}

void daring(void (*fn)(void *arg), void *arg)
{
	sigjmp_buf here;

	if (!sigsetjmp(here, 1)) {
		escape = &here;
		fn(arg);
	}
	escape = NULL;
}

void exec_begin(void)
{
	struct sigaction alarmed = { .sa_handler = on_alarm };
	struct sigaction faulted = { .sa_handler = on_fault };

	sigaction(SIGALRM, &alarmed, NULL);
	sigaction(SIGSEGV, &faulted, NULL);
	sigaction(SIGBUS, &faulted, NULL);
	if (kcov_open(&main_kcov) && kcov_open(&helper_kcov))
		atomic_store(&pool->learns, true);
}

struct fuzz_file *the_file(struct state *s, const struct op *op)
{
	return &s->files[op->a % FILES];
}

struct fuzz_buf *the_buf(struct fuzz_file *f, const struct op *op)
{
	return &f->bufs[op->b % (op->b >= 0xf0 || !f->nr_bufs ? BUFS : f->nr_bufs)];
}

struct fuzz_queue *the_queue(struct fuzz_file *f, const struct op *op)
{
	return &f->queues[op->b % (op->b >= 0xf0 || !f->nr_queues ? QUEUES : f->nr_queues)];
}

int the_fd(const struct state *s, uint32_t n)
{
	/* Also files that it cannot be. */
	if (n % 16 == 15)
		return s->files[n / 16 % FILES].fd;
	if (n % 16 == 14)
		return (int)n;
	return s->nr_fds ? s->fds[n % s->nr_fds] : -1;
}

uint64_t the_size(uint8_t choice, uint64_t raw)
{
	static const uint64_t sizes[] = {
		4096, 8192, 65536, 1, 4095, 4097, 12288, 1 << 18, 4096, 8192,
		(2 << 20) + 4096, 0, (1ull << 32) - 1, ~0ull,
	};

	return choice >= 0xe0 ? raw : sizes[choice % ARRAY_LEN(sizes)];
}

void keep_fd(struct state *s, int fd)
{
	unsigned int n = s->nr_fds;

	if (fd < 0)
		return;
	if (n >= FDS) {
		close(fd);
		return;
	}
	s->fds[n] = fd;
	s->nr_fds = n + 1;
}

void keep_map(struct state *s, void *ptr, size_t size)
{
	struct fuzz_map *map = &s->maps[s->nr_maps++ % MAPS];

	if (!own_map(map)) {
		munmap(ptr, size);
		return;
	}
	if (map->ptr)
		munmap((void *)map->ptr, map->size);
	map->ptr = (uintptr_t)ptr;
	map->size = size;
	disown_map(map);
}

bool own_map(struct fuzz_map *map)
{
	return !atomic_flag_test_and_set(&map->owned);
}

void disown_map(struct fuzz_map *map)
{
	atomic_flag_clear(&map->owned);
}

int call(struct state *s, const struct op *op, int fd, unsigned long cmd, void *arg)
{
	size_t size = _IOC_SIZE(cmd);
	uint8_t buf[256] = { 0 };
	int ret;

	memcpy(buf, arg, size);
	switch (op->c >> 4) {
	case 0xd:
		buf[op->d % size] ^= (uint8_t)(op->d >> 8 | 1);
		break;
	case 0xe:
		cmd = _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), op->d % 128);
		if (op->c & 1)
			memset(buf + size, (int)op->d, sizeof(buf) - size);
		break;
	case 0xf:
		/* The end of the memory is in the middle of it, or in front. */
		return ioctl(fd, cmd, op->c & 1 ? (uint8_t *)8 :
			     s->memory + MEMORY_SIZE - op->d % (size + 1)) ? -errno : 0;
	}
	ret = ioctl(fd, cmd, buf) ? -errno : 0;
	memcpy(arg, buf, size);
	return ret;
}

/* ---- Programs ---- */

static void *memory_new(void)
{
	uint8_t *all = mmap(NULL, MEMORY_SIZE + 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED || mprotect(all + MEMORY_SIZE, 4096, PROT_NONE))
		abort();
	return all;
}

/* False if there is no card to do anything with. */
static bool begin(struct state *s)
{
	const struct op first = { 0 };
	unsigned int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < FILES; i++)
		s->files[i].fd = -1;
	s->memory = memory_new();
	/* Nothing happens without one. */
	op_open(s, &first);
	if (s->files[0].fd < 0 && pool->breaks) {
		card_revive();
		op_open(s, &first);
	}
	atomic_fetch_add(s->files[0].fd < 0 ? &pool->without_card : &pool->with_card, 1);
	return s->files[0].fd >= 0;
}

static void end(struct state *s)
{
	unsigned int i;

	for (i = 0; i < MAPS; i++)
		if (s->maps[i].ptr)
			munmap((void *)s->maps[i].ptr, s->maps[i].size);
	for (i = 0; i < s->nr_fds; i++)
		close(s->fds[i]);
	for (i = 0; i < FILES; i++) {
		const struct op op = { .a = (uint8_t)i };

		op_close(s, &op);
	}
	munmap(s->memory, MEMORY_SIZE + 4096);
}

static op_fn *the_op(uint8_t code)
{
	if (pool->breaks && code >= 0xc0)
		return breaking_ops[code % ARRAY_LEN(breaking_ops)];
	return ops[code % ARRAY_LEN(ops)];
}

static void run(struct state *s, const struct op *op, uint32_t n)
{
	atomic_fetch_add(&pool->ops, n);
	for (; n; n--, op++) {
		op_fn *fn = the_op(op->code);

		fn(s, op);
	}
}

struct half {
	struct state *s;
	const struct op *ops;
	uint32_t n;
};

static void *run_half(void *arg)
{
	const struct half *half = arg;

	helper = true;
	kcov_begin(&helper_kcov);
	run(half->s, half->ops, half->n);
	kcov_end(&helper_kcov);
	return NULL;
}

/* The end of some programs is executed beside what comes before it. */
static uint32_t split(const struct prog *prog)
{
	const struct op *last = &prog->ops[prog->len - 1];

	return prog->len >= 6 && (last->c & 0x18) == 0x18 ? prog->len / 3 : 0;
}

void exec_prog(const struct prog *prog)
{
	const struct itimerval wake = {
		.it_interval.tv_usec = WAKE_MS * 1000, .it_value.tv_usec = WAKE_MS * 1000,
	};
	const struct itimerval never = { 0 };
	struct state s;
	struct half half = { .s = &s, .n = split(prog) };
	uint32_t first = prog->len - half.n;
	pthread_t thread;
	bool news;

	setitimer(ITIMER_REAL, &wake, NULL);
	kcov_begin(&main_kcov);
	if (!begin(&s)) {
		usleep(NO_CARD_MS * 1000);
		goto out;
	}
	half.ops = &prog->ops[first];
	/* The second half finds what the first part has made. */
	run(&s, prog->ops, first - half.n);
	if (half.n && pthread_create(&thread, NULL, run_half, &half))
		half.n = 0;
	run(&s, &prog->ops[first - half.n], half.n);
	if (half.n)
		pthread_join(thread, NULL);
out:
	end(&s);
	kcov_end(&main_kcov);
	setitimer(ITIMER_REAL, &never, NULL);
	news = pool_learn(&main_kcov);
	if ((half.n && pool_learn(&helper_kcov)) || news)
		pool_add(prog);
}
