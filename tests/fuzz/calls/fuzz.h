/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz.h - a program for the guest that finds programs of calls that take the
 * driver to where it has not been yet
 *
 * A program is a list of operations of fixed size, so that lists can be cut and
 * spliced. The code of an operation gives its fields their meaning; any bytes make a
 * valid program. Each worker, a process, takes a program from the pool, changes
 * it, executes it and puts it back into the pool if the kernel's coverage (KCOV) had
 * something new. Without KCOV it continues without learning.
 */
#ifndef VTA_FUZZ_H
#define VTA_FUZZ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* ---- Programs ---- */

struct op {
	uint8_t code;		/* modulo the number of operations */
	uint8_t a, b, c;	/* mostly: which file, which object, which flags */
	uint32_t d;
	uint64_t e;
};

_Static_assert(sizeof(struct op) == 16, "programs are kept in files");

#define PROG_OPS	40u

struct prog {
	uint32_t len;
	struct op ops[PROG_OPS];
};

/* Only the first @prog->len operations are read or written. */
int prog_read(struct prog *prog, const char *path);
int prog_write(const struct prog *prog, const char *path);

/* A generator of its own for each worker: xorshift64. */
uint64_t random_next(uint64_t *state);

/* Makes @prog another one, with pieces of @other. */
void mutate(struct prog *prog, const struct prog *other, uint64_t *random);

/* ---- kcov.c: what the kernel has executed for the calling thread ---- */

struct kcov {
	int fd;
	uint64_t *area;
};

/* False if this kernel cannot show it. */
bool kcov_open(struct kcov *kcov);
void kcov_begin(struct kcov *kcov);	/* on the thread that is to be followed */
void kcov_end(struct kcov *kcov);

/* ---- pool.c: what all workers share ---- */

#define POOL_PROGS	4096u
#define POOL_EDGES	(1u << 16)
#define WORKERS_MAX	16u

struct worker {
	_Atomic uint64_t progs;		/* executed; shows that it makes progress */
	_Atomic int pid;
	struct prog now;		/* what is being executed */
};

struct pool {
	_Atomic uint64_t ops;		/* executed by all */
	_Atomic uint64_t with_card;	/* programs that could open the card at first */
	_Atomic uint64_t without_card;
	uint64_t ops_max;
	atomic_bool stop;
	atomic_bool learns;		/* there is KCOV */
	bool breaks;			/* the card is to fail, too */
	_Atomic int64_t reset_after;	/* when the next reset may be */
	int control;			/* locked while a process talks to the emulator */
	atomic_uint edges_seen;
	_Atomic uint8_t edges[POOL_EDGES];
	atomic_uint nr_progs;
	struct prog progs[POOL_PROGS];
	struct worker workers[WORKERS_MAX];
};

extern struct pool *pool;

int pool_create(void);
void pool_add(const struct prog *prog);
/* Counts what @kcov holds; true if some of it is new. */
bool pool_learn(const struct kcov *kcov);

/* ---- exec.c ---- */

/* Executes a program and undoes what it has made. */
void exec_prog(const struct prog *prog);
void exec_begin(void);		/* once in each worker */

#endif
