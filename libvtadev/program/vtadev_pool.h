/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtadev_pool.h - one program on several cards
 *
 * A pool loads one program image (docs/program-image.md) on several cards, its weights
 * once on each, and gives each request to the card that is expected to complete it first. A
 * caller submits requests, and reaps their completions in the order of submission:
 *
 *	err = vtadev_pool_open(&image, NULL, &pool, why);	// all cards
 *	err = vtadev_caller_open(pool, 64, &caller);
 *	struct iovec in = { picture, picture_bytes }, out = { scores, scores_bytes };
 *	struct vtadev_request request = { .inputs = &in, .outputs = &out,
 *					  .input_count = 1, .output_count = 1, .user_data = 7 };
 *	err = vtadev_caller_submit(caller, &request);
 *	err = vtadev_caller_wait(caller, -1);
 *	n = vtadev_caller_reap(caller, completions, 16);
 *
 * ONE ANSWER. Each submitted request has one completion: its outputs, or one error. If a card
 * is reset, lost or unplugged, its requests run again on another card. This is safe because a run
 * has no effect except its outputs, which are copied to the request's memory once, after a run has
 * succeeded. After an error the outputs are unchanged.
 *
 * A card that loses a doorbell gets it again after one to two seconds; one that counts none within
 * five seconds is lost (vtadev_wait()).
 *
 * CARDS COME BACK. The pool opens a lost card again and loads the program again, as soon
 * as the kernel reports the card (a uevent); besides, it tries at least every two
 * seconds. While no card is up, requests wait up to
 * vtadev_pool_opts.away_ns.
 *
 * ORDER. Completions of one caller come in the order of its submissions, on however many cards
 * the requests ran: a request that is done waits for those before it. Different callers do not
 * wait for each other. A program whose requests need no common order opens several
 * callers.
 *
 * THREADS. Several threads may call functions at once, also for the same caller,
 * except those that close: no other thread may use the argument during or after such a call. A
 * pool has a thread for each card, which also executes the CPU steps, with all signals blocked. If
 * these take long, the pool has a thread for each processor, too: CPU steps of several runs are
 * executed side by side, as far as vtadev_pool_opts.depth allows.
 *
 * FORK. A child process has no threads of the pool. In the child, vtadev_pool_tensor(),
 * vtadev_pool_cards() and vtadev_caller_fd() work, the functions that close do nothing, and all
 * others return -ECHILD.
 *
 * ERRORS are those of vtadev.h, and:
 *
 *	-ECHILD		the pool was opened before fork(), by the parent process
 *	-ENOEXEC	the program is for cards with another configuration
 */
#ifndef VTADEV_POOL_H
#define VTADEV_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vtadev.h"
#include "vtaimage.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vtadev_pool;

/* A source of requests, with an order of its own, not a thread. */
struct vtadev_caller;

#define VTADEV_POOL_CARDS_MAX		256
#define VTADEV_POOL_DEPTH_DEFAULT	2
#define VTADEV_POOL_DEPTH_MAX		256
#define VTADEV_POOL_TRIES_DEFAULT	8
#define VTADEV_POOL_AWAY_NS_DEFAULT	10000000000
#define VTADEV_POOL_REQUESTS_MAX	65536

/* Bytes for any text of vtadev_pool_open(), with its 0. */
#define VTADEV_POOL_WHY_MAX		384

/**
 * struct vtadev_pool_opts - options of a pool; all zero: the defaults
 * @cards: names as for vtadev_open(), each of another card; "soft" may be given several times.
 *         NULL: all cards that have a node in /dev now; if there are none, the device that
 *         VTADEV_DEVICE names
 * @count: number of names, up to VTADEV_POOL_CARDS_MAX; 0 if @cards is NULL
 * @depth: runs in flight on each card, up to VTADEV_POOL_DEPTH_MAX; 0: 2, so that the card copies
 *         for one run while it computes another. A device with several cores (vtadev_info()) is
 *         busy with one more than these. Each takes an arena in card memory, tensors in host
 *         memory and a queue
 * @tries: number of runs of a request that may fail because a card is lost or faulty; after the
 *         last one, the completion is the error -ENODEV. 0: 8
 * @away_ns: nanoseconds that requests wait while no card is up; 0: 10 s;
 *           negative: no limit
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
 * @image: the opened program image, copied; its bytes must exist, unchanged, until the pool is
 *         closed, as cards that come back load them again
 * @opts: options, or NULL for the defaults
 * @pool: out: the pool
 * @why: out: after an error, a sentence with the card and the reason; otherwise ""
 *
 * Succeeds if at least one card has loaded the program; vtadev_pool_stats() has the errors of the
 * others. Sleeps until all cards have been tried. Errors: -EINVAL (invalid @opts),
 * -ENOENT (no card), -EEXIST (a card is named twice), -ENOMEM, -EMFILE, -EAGAIN (no more threads);
 * and, if no card loads the program, the error of the first card: -ENOEXEC, or one of
 * vtadev_open(), vtadev_queue_create(), vtadev_buf_alloc() and vtadev_wait().
 */
int vtadev_pool_open(const struct vtaimage *image, const struct vtadev_pool_opts *opts,
		     struct vtadev_pool **pool, char why[VTADEV_POOL_WHY_MAX]);

/**
 * vtadev_pool_close() - close a pool, and all its callers
 * @pool: the pool, or NULL
 *
 * Requests without a completion are dropped. After the call the pool does not access the memory of
 * requests.
 */
void vtadev_pool_close(struct vtadev_pool *pool);

/**
 * struct vtadev_pool_tensor - an input or output of the program
 *
 * If data decides a size of an output, @dims has the most that it can be, and the next tensor,
 * NAME.size, is an int64: the number in use of dimension @zero (of NAME.size) of this output.
 *
 * @name: name of the tensor; valid as long as the pool
 * @output: true for an output, false for an input
 * @type: type of the values, by the numbers in docs/program-image.md, "Tensors": 1 float of 32
 *        bits, 2 int8, 3 uint8, 4 int32, 5 int64, 6 bool
 * @rank: number of dimensions, 1 to 8
 * @dims: the shape; 0 after the first @rank dimensions
 * @bytes: bytes of the values, row-major without gaps: the iov_len of a request
 * @scale: an integer value represents @scale * (value - @zero); 0: the image does not define this
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
 * vtadev_pool_tensor() - describe an input or output
 * @pool: the pool
 * @i: number of the tensor, from 0: the inputs in the program's order, then the outputs
 * @tensor: out: the description
 *
 * Errors: -ENOENT (@i is too large).
 */
int vtadev_pool_tensor(const struct vtadev_pool *pool, unsigned int i,
		       struct vtadev_pool_tensor *tensor);

/**
 * struct vtadev_pool_stats - state and counts of a card of a pool
 * @name: the name in vtadev_pool_opts.cards, truncated if longer; or vtaN
 * @up: the card has loaded the program and takes requests
 * @error: negative errno of the reason why the card is not up; 0 if it is up
 * @why: the reason as a sentence; empty if the card is up
 * @answers: requests that the card completed with outputs
 * @faults: requests that the card completed with a fault of the program
 * @given_back: runs that failed because of the card, and whose requests returned to the pool
 * @losses: times that the card was lost
 * @joins: times that the card came up, with the first
 * @in_hand: requests that the card has now
 * @cycles: @answers times the image's cycles of a run by the card's model, 1 if it has none
 * @cycles_in_hand: @in_hand times the same
 * @clock_khz: frequency of the card's clock in kHz; 0 if the card was never up
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

/* vtadev_pool_cards() - number of cards of a pool, up or not; constant */
unsigned int vtadev_pool_cards(const struct vtadev_pool *pool);

/**
 * vtadev_pool_stats() - state and counts of a card of a pool
 * @pool: the pool
 * @card: number of the card, from 0, in the order of vtadev_pool_opts.cards, or by rising index
 * @stats: out: the state, and counts since the pool was opened
 *
 * Errors: -ENOENT (@card is too large), -ECHILD.
 */
int vtadev_pool_stats(struct vtadev_pool *pool, unsigned int card,
		      struct vtadev_pool_stats *stats);

/* ---- Callers ------------------------------------------------------------- */

/**
 * vtadev_caller_open() - create a caller
 * @pool: the pool
 * @entries: most requests at a time, from submission until they are reaped:
 *           1 to VTADEV_POOL_REQUESTS_MAX
 * @caller: out: the caller
 *
 * Errors: -EINVAL, -ENOMEM, -EMFILE, -ECHILD.
 */
int vtadev_caller_open(struct vtadev_pool *pool, unsigned int entries,
		       struct vtadev_caller **caller);

/**
 * vtadev_caller_close() - destroy a caller
 * @caller: the caller, or NULL
 *
 * Drops the caller's requests and completions. Runs on cards continue to
 * their end, without a result. After the call the pool does not access the memory of the caller's
 * requests. The call sleeps while the values of such a request are being copied.
 */
void vtadev_caller_close(struct vtadev_caller *caller);

/**
 * struct vtadev_request - one run of the program
 * @inputs: array of the inputs' values, in the order of vtadev_pool_tensor(), row-major; each
 *          iov_len is vtadev_pool_tensor.bytes
 * @outputs: array of memory for the outputs' values, likewise
 * @input_count: number of inputs, which is the program's
 * @output_count: number of outputs, which is the program's
 * @user_data: copied to the completion
 *
 * The two arrays may be freed after vtadev_caller_submit(). The inputs' values must not
 * change, and the outputs' memory must not be used, until the request is reaped or the caller
 * closed.
 */
struct vtadev_request {
	const struct iovec *inputs;
	const struct iovec *outputs;
	unsigned int input_count;
	unsigned int output_count;
	uint64_t user_data;
};

/**
 * vtadev_caller_submit() - submit a request
 * @caller: the caller
 * @request: the request, copied
 *
 * Does not wait and allocates nothing. Errors: -EINVAL (the number of inputs or outputs
 * is not the program's, or an iov_base is NULL), -ERANGE (the size of an input or output is not
 * the tensor's), -EAGAIN (the caller has its most requests: reap some), -ECHILD.
 */
int vtadev_caller_submit(struct vtadev_caller *caller, const struct vtadev_request *request);

/**
 * struct vtadev_completion - result of a request
 * @user_data: user_data of the request
 * @result: 0: the outputs are valid; otherwise a negative errno:
 *          -EIO: the program faulted (@fault), as it would on any card of this configuration;
 *          -ENODEV: vtadev_pool_opts.tries runs failed because of their cards, or no card was up
 *          for vtadev_pool_opts.away_ns
 * @card: number of the card that completed the request, or had it last; UINT32_MAX: no card had it
 * @lost: runs of the request that failed because of their cards
 * @fault: the fault, if @result is -EIO
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
 * @completions: out: array of @n completions, in the order of submission
 * @n: length of the array
 *
 * Does not wait. Returns the number of completions taken, 0 or more. Errors:
 * -ECHILD.
 */
int vtadev_caller_reap(struct vtadev_caller *caller, struct vtadev_completion *completions,
		       unsigned int n);

/**
 * vtadev_caller_wait() - wait until there is a completion to reap
 * @caller: the caller
 * @timeout_ns: as for vtadev_wait()
 *
 * Continues after signals. If another thread reaps the completion first, the call waits for the
 * next one, or returns 0 although vtadev_caller_reap() then takes none.
 * Errors: -EINVAL (the caller has no request that is not reaped), -ETIMEDOUT, -ECHILD.
 */
int vtadev_caller_wait(struct vtadev_caller *caller, int64_t timeout_ns);

/**
 * vtadev_caller_fd() - file descriptor of a caller for poll()
 * @caller: the caller
 *
 * Returns an eventfd that is readable (POLLIN) exactly while there is a completion to reap. Only
 * vtadev_caller_reap() reads it. The eventfd belongs to @caller: do not close it.
 */
int vtadev_caller_fd(const struct vtadev_caller *caller);

#ifdef __cplusplus
}
#endif

#endif /* VTADEV_POOL_H */
