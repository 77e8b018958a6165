/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * streams.h - random streams on a target, against the reference
 *
 * A target runs streams on every configuration of tests/emu/configs, in one or several ways, such
 * as orders of the core's modules. streams_main() makes tests of it: valid streams must leave the
 * reference's bytes, invalid ones end in the fault that the generator names.
 *
 * VTA_SEED is the first seed and VTA_STREAMS the number of valid streams, over all configurations
 * together. A failure names both, to see it again. All functions fail the test that calls them.
 */
#ifndef TESTS_EMU_STREAMS_H
#define TESTS_EMU_STREAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "configs.h"
#include "gen.h"
#include "ref.h"

#define STREAMS_BASE	0x100000u	/* an address in the middle of the 32 bits */

/**
 * struct streams - streams of a configuration, one seed after the other
 * @run: the test
 * @target: runs the streams
 * @config: number of the configuration
 * @cfg: the configuration
 * @name: its name
 * @path: its file
 * @seed: seed of the streams in hand
 * @base: device address of their memory
 * @size: bytes of it
 * @gen: makes them
 * @stream: the stream in hand
 * @ref: the reference,
 * @memory: and its memory
 * @self: the target's own
 */
struct streams {
	void (*run)(struct streams *s);
	const struct target *target;
	unsigned int config;
	const struct core_config *cfg;
	const char *name;
	const char *path;
	uint64_t seed;
	uint32_t base;
	uint32_t size;
	struct gen *gen;
	struct gen_stream stream;
	struct ref ref;
	uint8_t *memory;
	void *self;
};

struct streams_test {
	const char *name;
	void (*run)(struct streams *s);
};

/**
 * struct target - one or several machines that run the same streams
 * @group: name of the group of tests
 * @ways: how many there are
 * @names: their names
 * @seed: first seed,
 * @streams: and number of valid streams, unless the environment has another
 * @least: fewer valid streams than this do not show what the tests are there for; 0: 2,100
 * @least_configs: nor fewer configurations; 0: 8
 * @tests: further tests, up to one without a name; NULL for none
 * @offers: returns true if the target has the configuration; NULL: it has all
 * @open: make the machines, with memory of @size bytes
 * @close: end them; they may be half open
 * @begin: zero scratchpads from the next run on, and set @base; with @strict nothing is mapped
 *         around the memory
 * @load: copy the first bytes of @memory to a machine's memory
 * @page: the machine's memory from a multiple of 4096 up to the next one
 * @run: run @stream; true if it was completed, and else its fault; @cycles are equal if all ways
 *       have run the same streams
 */
struct target {
	const char *group;
	unsigned int ways;
	const char *const *names;
	uint64_t seed;
	uint64_t streams;
	unsigned int least;
	unsigned int least_configs;
	const struct streams_test *tests;
	bool (*offers)(const struct core_config *cfg, const char *name);
	void (*open)(struct streams *s);
	void (*close)(struct streams *s);
	void (*begin)(struct streams *s, bool strict);
	void (*load)(struct streams *s, unsigned int way, uint32_t bytes);
	const uint8_t *(*page)(struct streams *s, unsigned int way, uint32_t at);
	bool (*run)(struct streams *s, unsigned int way, struct core_fault *fault,
		    uint64_t *cycles);
};

int streams_main(const struct target *target);

/* ---- For further tests ---- */

/* Seeds of one configuration: from the first one on, so many. */
uint64_t streams_first(void);
uint64_t streams_seeds(void);
/* A seed for other streams that follow those of @seed. */
uint64_t streams_other(uint64_t seed);

/* The memory and zeroed scratchpads of a seed, for its first stream. */
void streams_begin(struct streams *s, uint64_t seed, bool strict);
/* The memory and the reference's scratchpads again as at the begin. */
void streams_rewind(struct streams *s);
/* Run the stream in hand, which is valid, on the reference and all machines, and compare. */
void streams_check_valid(struct streams *s, unsigned int round);

__attribute__((format(printf, 2, 3)))
void streams_fail(const struct streams *s, const char *format, ...);

#endif /* TESTS_EMU_STREAMS_H */
