// SPDX-License-Identifier: Apache-2.0
/*
 * jobs.cl - a job: a GEMM or ALUs, in parts, which several work-groups can execute
 *
 * The first group of vta_team executes a stream. It publishes a job, of which each group takes
 * parts until none is left. It takes parts as well, and waits for those only that others have
 * taken: a group that the device has not begun is not missed, and one that begins late finds no
 * part, or that all is over.
 *
 * Who takes a part has by one atomic operation all that decides whether it is one: the job's
 * number, its parts, and how many are taken. The job itself does not change before all parts that
 * were taken are done.
 */

/* Adds up the products of iterations @n to @end - 1. */
static void gemm_part(const struct core *c, __local struct vta_group *g,
		      const struct vta_isa_loop *insn, uint n, uint end, bool shared)
{
#if SORTS
	gemm_sorted(c, g, insn, n, end, shared);
#else
	const struct vta_loop l = { *insn, 1, 0, 0 };
	uint uops = insn->uop_end - insn->uop_bgn, each = (LANES + VTA_ITEMS - 1) / VTA_ITEMS;
	struct lanes lanes = { ITEM * each, (ITEM + 1) * each, shared };

	if (lanes.end <= LANES)
		gemm(c, &l, (ulong)n * uops, (ulong)end * uops, lanes);
#endif
}

static void job_part(const struct core *c, __local struct vta_group *g, const struct vta_job *j,
		     uint part)
{
	struct vta_isa_loop insn = j->insn;
	uint first = j->bgn;

	if (j->passes) {
		first += part * j->each;
		alu_passes(c, g, &insn, first, min(first + j->each, j->end), j->passes);
	} else {
		first += part % j->along * j->each;
		insn.uop_bgn += part / j->along * j->each_uops;
		insn.uop_end = min(insn.uop_end, insn.uop_bgn + j->each_uops);
		gemm_part(c, g, &insn, first, min(first + j->each, j->end), j->shared);
	}
	JOIN;
}

#ifdef VTA_TEAM
#define NEXT(job, parts, part)	((job) << 20 | (parts) << 10 | (part))
#define NEXT_JOB(next)		((next) >> 20)
#define NEXT_PARTS(next)	((next) >> 10 & 1023u)
#define NEXT_PART(next)		((next) & 1023u)
#define JOB_OVER		4095u		/* the launch is over */
#define NO_PART			(~0u)

/* Micro-ops of GEMM, or of ALUs, from which on another group's part is worth its cost. */
#ifndef VTA_TEAM_GEMM
#define VTA_TEAM_GEMM	512u
#endif
#ifndef VTA_TEAM_ALU
#define VTA_TEAM_ALU	1024u
#endif

/* Makes the group's writes visible to all groups, and theirs to this work-item. */
#if defined(VTA_GPU) && defined(__NV_CL_C_VERSION)
#define FENCE		asm volatile("membar.gl;" : : : "memory")
#else
#define FENCE		mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

/*
 * Iterations that fill a group with work, a lane for each work-item, if each has one destination:
 * parts of fewer are of micro-ops, whose sums are added up in memory.
 */
#if SORTS
#define FULL		(PARTS * TOGETHER)
#else
#define FULL		1u
#endif

/* Iterations and micro-ops of a GEMM, for @groups. */
static uint split_gemm(struct vta_job *j, uint groups)
{
	uint uops = j->insn.uop_end - j->insn.uop_bgn, rest = j->end - j->bgn;
	uint most = (uint)min((ulong)uops * rest / VTA_TEAM_GEMM, (ulong)groups);
	uint along = clamp(rest / FULL, 1u, max(most, 1u)), across;

	j->each = (rest + along - 1) / along;
	j->along = (rest + j->each - 1) / j->each;
	across = clamp(most / j->along, 1u, uops);
	j->each_uops = (uops + across - 1) / across;
	return j->along * ((uops + j->each_uops - 1) / j->each_uops);
}

/* Elements of ALUs, for @groups. */
static uint split_alu(struct vta_job *j, uint groups)
{
	uint parts = clamp(j->end * j->passes / VTA_TEAM_ALU, 1u, groups);

	j->each = (j->end + parts - 1) / parts;
	return (j->end + j->each - 1) / j->each;
}

/* Takes a part of the job @next, or of a later one, by one work-item. Returns it, or NO_PART. */
static uint take_part(__global struct vta_team *team, uint next)
{
	if (NEXT_PART(next) < NEXT_PARTS(next))
		next = atomic_inc((volatile __global uint *)&team->next);
	return NEXT_PART(next) < NEXT_PARTS(next) ? NEXT_PART(next) : NO_PART;
}

/* Publishes a job, of which the group has taken the first part. */
static void publish(const struct core *c, __local struct vta_group *g, const struct vta_job *j,
		    uint parts)
{
	for (uint i = ITEM; i < j->passes; i += VTA_ITEMS)
		c->team->passes[i] = g->passes[i];
	if (ITEM == 0) {
		c->team->job = *j;
		c->team->done = 0;
	}
	JOIN;
	if (ITEM == 0) {
		FENCE;
		g->jobs = (g->jobs + 1) % JOB_OVER;
		atomic_xchg((volatile __global uint *)&c->team->next, NEXT(g->jobs, parts, 1u));
	}
}

/* Waits until others have done their @parts, by all work-items. */
static void wait_for_others(const struct core *c, uint parts)
{
	if (ITEM == 0) {
		while (*(volatile __global uint *)&c->team->done < parts)
			;
		FENCE;
	}
	JOIN;
}

/* Waits for a part, by one work-item. Returns NO_PART if all is over, or nothing has come. */
static uint wait_for_part(__global struct vta_team *team, ulong begun)
{
	uint part = NO_PART, next;

	while (part == NO_PART) {
		next = *(volatile __global uint *)&team->next;
		if (NEXT_JOB(next) == JOB_OVER || clock() - begun > 8 * VTA_SLICE)
			return NO_PART;
		part = take_part(team, next);
	}
	FENCE;
	return part;
}

/* Takes parts of jobs until the launch is over: what all groups of a team but the first do. */
static void help(const struct core *c, __local struct vta_group *g)
{
	ulong begun = clock();

	for (;;) {
		struct vta_job j;

		if (ITEM == 0)
			g->part = wait_for_part(c->team, begun);
		JOIN;
		if (g->part == NO_PART)
			break;
		j = c->team->job;
		for (uint i = ITEM; i < j.passes; i += VTA_ITEMS)
			g->passes[i] = c->team->passes[i];
		JOIN;
		job_part(c, g, &j, g->part);
		if (ITEM == 0) {
			FENCE;
			atomic_inc((volatile __global uint *)&c->team->done);
		}
	}
}

/* Leaves a team, by one work-item: the last one makes it ready for the next launch. */
static void leave_team(__global struct vta_team *team)
{
	if (get_group_id(0) == 0)
		atomic_xchg((volatile __global uint *)&team->next, NEXT(JOB_OVER, 0u, 0u));
	if (atomic_inc((volatile __global uint *)&team->left) + 1 < get_num_groups(0))
		return;
	atomic_xchg((volatile __global uint *)&team->next, 0u);
	atomic_xchg((volatile __global uint *)&team->left, 0u);
}
#endif

/* Splits a job for the team, if there is one. Returns the number of its parts. */
static uint split_job(const struct core *c, struct vta_job *j)
{
	uint parts = 1;

	j->each = j->end - j->bgn;
	j->along = 1;
	j->each_uops = j->insn.uop_end - j->insn.uop_bgn;
#ifdef VTA_TEAM
	if (c->team && j->passes)
		parts = split_alu(j, (uint)get_num_groups(0));
	else if (c->team)
		parts = split_gemm(j, (uint)get_num_groups(0));
#endif
	j->shared = parts > 1;
	return parts;
}

/* Executes a job of @parts, with others if there is more than one. */
static void execute_job(const struct core *c, __local struct vta_group *g,
			const struct vta_job *j, uint parts)
{
	uint part = 0, done = 0;

#ifdef VTA_TEAM
	if (parts > 1)
		publish(c, g, j, parts);
#endif
	for (;;) {
		job_part(c, g, j, part);
		done++;
#ifdef VTA_TEAM
		if (parts > 1 && ITEM == 0)
			g->part = take_part(c->team, NEXT(0u, 1u, 0u));
		if (parts == 1)
			break;
		JOIN;
		part = g->part;
		if (part != NO_PART)
			continue;
		wait_for_others(c, parts - done);
#endif
		break;
	}
}
