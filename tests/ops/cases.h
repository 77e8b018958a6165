/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generated operators, each against plain loops. A case is its seed, and the
 * core that it is for.
 */
#ifndef TESTS_OPS_CASES_H
#define TESTS_OPS_CASES_H

#include "machine.h"

enum case_kind {
	CASE_CONV, CASE_GROUPS, CASE_TRANSPOSED, CASE_RESIDUAL, CASE_DENSE, CASE_ELTWISE,
	CASE_MAX_POOL, CASE_SUM_POOL, CASE_AVG_POOL, CASE_DEPTHWISE, CASE_FUNCTION,
	CASE_CHANNELS, CASE_MATMUL, CASE_NORM,
	CASE_KINDS,
};

enum case_result {
	CASE_EXACT,
	CASE_REFUSED,	/* no tile fits, and the reason has numbers */
	CASE_NONE,	/* no such core has the operator, and the reason says so */
	CASE_WRONG,	/* text has the difference */
};

/* Memory that any case needs on cores of usual size, and on any core of the tests. */
#define CASE_MEMORY	(4u << 20)
#define CASE_MEMORY_ANY	(64u << 20)

/* Run the case of @seed; @text describes it. */
enum case_result case_run(struct machine *m, enum case_kind kind, uint64_t seed, char *text,
			  size_t len);

const char *case_name(enum case_kind kind);

#endif /* TESTS_OPS_CASES_H */
