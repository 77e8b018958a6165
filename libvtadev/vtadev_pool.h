/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_pool.h - one program on several cards
 *
 * A pool loads one program image (docs/program-image.md) on several cards, its weights
 * once on each, and gives requests to the card that will be free first. A caller submits
 * requests and reaps completions, in the order in which they were submitted:
 *
 *	err = vtadev_pool_open(image, size, NULL, &pool, why);	// all cards
 *	err = vtadev_caller_open(pool, 64, &caller);
 *	struct iovec in = { picture, picture_bytes }, out = { scores, scores_bytes };
 *	struct vtadev_request request = { .inputs = &in, .outputs = &out,
 *					  .input_count = 1, .output_count = 1, .user_data = 7 };
 *	err = vtadev_caller_submit(caller, &request);
 *	err = vtadev_caller_wait(caller, -1);
 *	n = vtadev_caller_reap(caller, completions, 16);
 *
 * ONE ANSWER. Each request that vtadev_caller_submit() has taken has one completion:
 * its outputs, or one error. If a card is reset, lost or unplugged, its requests run again
 * on another card: a run has no effect but its outputs, and these are copied to the
 * request's memory once, when a run has succeeded. After an error the outputs are as they
 * were before.
 *
 * CARDS COME BACK. A card that was lost is opened again and gets the program again, as soon
 * as the kernel tells that it is there (a uevent), or when one of the attempts succeeds that are
 * made at least every two seconds. While no card is up requests wait, up to
 * vtadev_pool_opts.away_ns.
 *
 * ORDER. Completions of one caller come in the order of its submissions, however many cards
 * the requests ran on: one that is done waits for those before it. Different callers do not
 * wait for each other. A program whose parts need no order among each other opens several
 * callers.
 *
 * THREADS. Functions may be called by several threads at once, also for the same caller,
 * except those that close: no other thread may use their argument meanwhile or after. A pool has a
 * thread for each card, which also does the program's CPU steps, with all signals blocked.
 *
 * FORK. A child process has no threads of the pool: there, functions return -ECHILD, and
 * those that close do nothing.
 *
 * ERRORS are those of vtadev.h, and:
 *
 *	-ECHILD		the pool was opened before fork()
 *	-ENOEXEC	the program is for cards with another configuration
 */
#ifndef VTADEV_POOL_H
#define VTADEV_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vtadev.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vtadev_pool;

/* A source of requests, with an order of its own. */
struct vtadev_caller;

#define VTADEV_POOL_CARDS_MAX		256
#define VTADEV_POOL_DEPTH_DEFAULT	2
#define VTADEV_POOL_DEPTH_MAX		32
#define VTADEV_POOL_TRIES_DEFAULT	8
#define VTADEV_POOL_AWAY_NS_DEFAULT	10000000000
#define VTADEV_POOL_REQUESTS_MAX	65536

/* Enough for every text of vtadev_pool_open(). */
#define VTADEV_POOL_WHY_MAX		384

/**
 * struct vtadev_pool_opts - how a pool is to be; all zero: the defaults
 * @cards: names as for vtadev_open(), each of another card; several may be "soft". NULL:
 *         all cards that have a node in /dev now
 * @count: how many names
 * @depth: runs in flight on each card, up to 32; 0: 2, with which the card copies for one
 *         while it computes for the other. Each has an arena, its tensors in host memory
 *         and a queue
 * @tries: runs that a request may lose to cards that fail; with the last its completion is
 *         an error. 0: 8
 * @away_ns: how long requests wait, in nanoseconds, while no card is up; 0: 10 s;
 *           negative: as long as it takes
 */
struct vtadev_pool_opts {
	const char *const *cards;
	unsigned int count;
	unsigned int depth;
	unsigned int tries;
	int64_t away_ns;
};

/**
 * vtadev_pool_open() - load a program on several cards
 * @image: the program's file; not needed afterwards
 * @size: its bytes
 * @opts: how the pool is to be, or NULL for the defaults
 * @pool: out: the pool
 * @why: out: after an error, a sentence that says which card, and why
 *
 * Succeeds if one card at least has the program; vtadev_pool_stats() knows of the others.
 * Sleeps until all cards have been tried. Errors: -EINVAL (no good image, @opts),
 * -ENOENT (no card), -EEXIST (a card is named twice), -ENOMEM, and, if no card takes the
 * program, that of the first: -ENOEXEC, and what vtadev_open(), making queues and buffers,
 * and uploading return.
 */
int vtadev_pool_open(const void *image, size_t size, const struct vtadev_pool_opts *opts,
		     struct vtadev_pool **pool, char why[VTADEV_POOL_WHY_MAX]);

/**
 * vtadev_pool_close() - close a pool, and all its callers
 * @pool: the pool, or NULL
 *
 * Requests without a completion are given up. When this returns no memory of theirs is used
 * any more.
 */
void vtadev_pool_close(struct vtadev_pool *pool);

/**
 * struct vtadev_pool_tensor - an input or output of the program
 * @name: valid as long as the pool
 * @output: it is an output
 * @type: of its values, by the numbers in docs/program-image.md, "Tensors": 1 float of 32 bits,
 *        2 int8, 3 uint8, 4 int32, 5 int64, 6 bool
 * @rank: dimensions, 1 to 8
 * @dims: the shape
 * @bytes: of its values, row-major, without gaps: what an iovec of a request has
 * @scale: an integer stands for @scale * (value - @zero); 0: nothing is said
 * @zero: see @scale
 */
struct vtadev_pool_tensor {
	const char *name;
	bool output;
	uint32_t type;
	uint32_t rank;
	uint32_t dims[8];
	size_t bytes;
	float scale;
	int32_t zero;
};

/**
 * vtadev_pool_tensor() - tell of an input or output
 * @pool: the pool
 * @i: its number: inputs in the program's order, then outputs
 * @tensor: out: what it is
 *
 * Errors: -ENOENT (there are no more).
 */
int vtadev_pool_tensor(const struct vtadev_pool *pool, unsigned int i,
		       struct vtadev_pool_tensor *tensor);

/**
 * struct vtadev_pool_stats - a card of a pool
 * @name: as it was named, cut off if that is longer; or vtaN
 * @up: it has the program and takes requests
 * @error: why it is not up: a negative errno
 * @why: the same as a sentence; empty if it is up
 * @answers: requests that it has answered
 * @faults: requests whose completion was a fault of a queue of this card
 * @given_back: runs that it lost, whose requests went elsewhere
 * @losses: times that it was lost
 * @joins: times that it was taken in, the first one included
 * @in_hand: requests that it has now
 * @cycles: of the card's clock, by its model, that its answers took in streams
 * @cycles_in_hand: the same for those that it has now
 * @clock_khz: its clock; 0 if it was never up
 */
struct vtadev_pool_stats {
	char name[64];
	bool up;
	int error;
	char why[VTADEV_POOL_WHY_MAX];
	uint64_t answers;
	uint64_t faults;
	uint64_t given_back;
	uint64_t losses;
	uint64_t joins;
	uint32_t in_hand;
	uint64_t cycles;
	uint64_t cycles_in_hand;
	uint32_t clock_khz;
};

/* vtadev_pool_cards() - how many cards a pool has, up or not; does not change */
unsigned int vtadev_pool_cards(const struct vtadev_pool *pool);

/**
 * vtadev_pool_stats() - how a card of a pool is doing
 * @pool: the pool
 * @card: its number, in the order of vtadev_pool_opts.cards, or by rising index
 * @stats: out: counts since the pool was opened
 *
 * Errors: -ENOENT (there are no more), -ECHILD.
 */
int vtadev_pool_stats(struct vtadev_pool *pool, unsigned int card,
		      struct vtadev_pool_stats *stats);

/* ---- Callers ------------------------------------------------------------- */

/**
 * vtadev_caller_open() - make a caller
 * @pool: the pool
 * @entries: requests that it may have at a time, from submission until they are reaped:
 *           1 to VTADEV_POOL_REQUESTS_MAX
 * @caller: out: the caller
 *
 * Errors: -EINVAL, -ENOMEM, -EMFILE, -ECHILD.
 */
int vtadev_caller_open(struct vtadev_pool *pool, unsigned int entries,
		       struct vtadev_caller **caller);

/**
 * vtadev_caller_close() - end a caller
 * @caller: the caller, or NULL
 *
 * Its requests are given up and its completions dropped. Runs that cards are at go on to
 * their end, without a result. When this returns no memory of its requests is used any more;
 * it sleeps for as long as copying one request's values takes.
 */
void vtadev_caller_close(struct vtadev_caller *caller);

/**
 * struct vtadev_request - one run of the program
 * @inputs: the values of each input, in the order of vtadev_pool_tensor(), plain and of
 *          exactly that many bytes
 * @outputs: memory for those of each output, likewise
 * @input_count: how many inputs
 * @output_count: how many outputs
 * @user_data: given back with the completion
 *
 * The arrays may change after vtadev_caller_submit(). What they point to must stay as it is
 * until the request is reaped or the caller closed.
 */
struct vtadev_request {
	const struct iovec *inputs;
	const struct iovec *outputs;
	unsigned int input_count;
	unsigned int output_count;
	uint64_t user_data;
};

/**
 * vtadev_caller_submit() - hand over a request
 * @caller: the caller
 * @request: the request, copied
 *
 * Does not wait and allocates nothing. Errors: -EINVAL (another number of inputs or outputs
 * than the program has, or no memory), -ERANGE (an input or output has another size than
 * the tensor), -EAGAIN (as many requests as the caller may have: reap), -ECHILD.
 */
int vtadev_caller_submit(struct vtadev_caller *caller, const struct vtadev_request *request);

/**
 * struct vtadev_completion - how a request has ended
 * @user_data: of the request
 * @result: 0: its outputs are there; otherwise a negative errno:
 *          -EIO: the program faults, @fault says how, on any card of this kind;
 *          -ENODEV: each card that had it was lost, or no card was up for too long
 * @card: number of the card that answered, or that had it last; UINT32_MAX: none had it
 * @lost: runs of it that were lost with their cards
 * @fault: the record of an -EIO
 */
struct vtadev_completion {
	uint64_t user_data;
	int result;
	uint32_t card;
	uint32_t lost;
	struct vtadev_fault fault;
};

/**
 * vtadev_caller_reap() - take completions
 * @caller: the caller
 * @completions: out: room for @n
 * @n: how many at most
 *
 * Does not wait. Returns how many there were, 0 too, in the order of submission. Errors:
 * -ECHILD.
 */
int vtadev_caller_reap(struct vtadev_caller *caller, struct vtadev_completion *completions,
		       unsigned int n);

/**
 * vtadev_caller_wait() - wait until there is a completion to reap
 * @caller: the caller
 * @timeout_ns: as for vtadev_wait()
 *
 * Goes on after signals. If another thread reaps what it has waited for, it waits for the next.
 * Errors: -EINVAL (no request is under way), -ETIMEDOUT, -ECHILD.
 */
int vtadev_caller_wait(struct vtadev_caller *caller, int64_t timeout_ns);

/**
 * vtadev_caller_fd() - an eventfd for poll()
 * @caller: the caller
 *
 * POLLIN is up exactly while there is a completion to reap. Leave reading it to
 * vtadev_caller_reap(). It is the caller's and lives as long as that.
 */
int vtadev_caller_fd(const struct vtadev_caller *caller);

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_POOL_H */
