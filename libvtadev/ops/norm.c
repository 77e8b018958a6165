// SPDX-License-Identifier: Apache-2.0
/*
 * Normalisation of each position by its own channels, in three passes:
 *	gather	brings the input into planes of whole groups, if it is not so already. A group
 *		is the positions of which BLOCK values of all lanes are one element of wgt.
 *		Lanes behind the last channel become 0
 *	measure	leads to two numbers of each position, which are stored in digits of 8 bits
 *	apply	multiplies by the one and adds the other, and ends in the output stage
 */
#include "norm_impl.h"

/* ---- sizes and tables ---- */

static bool core_can(const struct vtaops_core *core)
{
	return core->log_inp_width == 3 && core->log_wgt_width == 3 &&
	       core->log_batch <= core->log_block;
}

static uint32_t group_of(const struct vtaops_core *core)
{
	return core->block >> core->log_batch;
}

/* wgt elements: ones in a group's place as rows, then as columns. Then the masks, of ACC. */
static size_t masks_at(const struct vtaops_core *core)
{
	size_t wgt = (size_t)2 * group_of(core) * core->wgt_bytes;

	return (wgt + core->acc_bytes - 1) / core->acc_bytes * core->acc_bytes;
}

size_t vtaops_norm_bytes(const struct vtaops_core *core)
{
	uint64_t bytes = core_can(core) ? masks_at(core) +
			 (uint64_t)(group_of(core) + 1) * core->acc_bytes : 0;

	return bytes <= UINT32_MAX ? (size_t)bytes : 0;
}

static void put_one(uint8_t *values, size_t at)
{
	values[4 * at] = 1;
}

void vtaops_pack_norm(const struct vtaops_core *core, void *dst)
{
	uint32_t each = group_of(core), block = core->block, batch = core->batch;
	uint8_t *rows = dst, *columns = rows + (size_t)each * core->wgt_bytes;
	uint8_t *masks = rows + masks_at(core);

	memset(dst, 0, vtaops_norm_bytes(core));
	for (uint32_t j = 0; j < each; j++) {
		for (uint32_t lane = j * batch; lane < (j + 1) * batch; lane++) {
			for (uint32_t i = 0; i < block; i++) {
				rows[(size_t)j * core->wgt_bytes + lane * block + i] = 1;
				columns[(size_t)j * core->wgt_bytes + i * block + lane] = 1;
			}
		}
		/* Row i of the batch has its values in the lane of its own. */
		for (uint32_t i = 0; i < batch; i++) {
			size_t at = (size_t)i * block + j * batch + i;

			put_one(masks + (size_t)j * core->acc_bytes, at);
			put_one(masks + (size_t)each * core->acc_bytes, at);
		}
	}
}

static uint32_t images_of(const struct vtaops_core *core, const struct vtaops_norm *op)
{
	return op->h * op->w == 1 ? 1 : div_up(op->n, core->batch);
}

static uint32_t positions_of(const struct vtaops_core *core, const struct vtaops_norm *op)
{
	return op->h * op->w == 1 ? div_up(op->n, core->batch) : op->h * op->w;
}

/* Elements of scratch memory: planes of all groups, as a copy may be needed; and the digits. */
static uint64_t scratch_elements(const struct vtaops_core *core, const struct vtaops_norm *op,
				 uint64_t *planes)
{
	uint64_t groups = div_up(positions_of(core, op), group_of(core));
	uint64_t images = images_of(core, op);

	*planes = ops_count3(images, div_up(op->form.c, core->block), groups * group_of(core));
	return *planes + ops_count3(images, NORM_BYTES, groups);
}

static bool shape_ok(const struct vtaops_norm *op)
{
	return dim_ok(op->n) && dim_ok(op->h) && dim_ok(op->w) && op->form.c &&
	       op->form.c <= VTAOPS_NORM_MAX && (uint64_t)op->h * op->w <= DIM_MAX;
}

size_t vtaops_norm_scratch(const struct vtaops_core *core, const struct vtaops_norm *op)
{
	uint64_t planes, bytes;

	if (!core_can(core) || !shape_ok(op))
		return 0;
	bytes = scratch_elements(core, op, &planes) * core->inp_bytes;
	return bytes <= UINT32_MAX ? (size_t)bytes : 0;
}

static int check(struct norm_job *j)
{
	const struct vtaops_norm *op = j->op;
	const struct vtaops_norm_form *f = &op->form;

	if (!core_can(j->b->core))
		return ops_fail(j->b, VTAOPS_ECORE,
				"inputs or weights are no int8, or BATCH is above BLOCK");
	if (!shape_ok(op))
		return ops_fail(j->b, VTAOPS_EINVAL, "a dimension is 0 or too large");
	if (f->zero < -128 || f->zero > 127 || f->epsilon > 1u << 28 || f->shift > 17)
		return ops_fail(j->b, VTAOPS_EINVAL,
				"the zero, epsilon or the shift is out of its range");
	if (f->c % j->b->core->block && !op->ones)
		return ops_fail(j->b, VTAOPS_EINVAL, "c is no whole blocks, and there are no ones");
	if (!vtaops_norm_scratch(j->b->core, op))
		return ops_fail(j->b, VTAOPS_EINVAL, "the scratch memory is more than 4 GiB");
	return 0;
}

static int init(struct norm_job *j)
{
	const struct vtaops_norm *op = j->op;
	const struct vtaops_core *core = j->b->core;
	uint32_t block = core->block;
	uint64_t size, planes, bytes;

	if (check(j))
		return j->b->error;
	j->each = group_of(core);
	j->blocks = div_up(op->form.c, block);
	j->images = images_of(core, op);
	j->positions = positions_of(core, op);
	j->groups = div_up(j->positions, j->each);
	j->rows = op->h * op->w == 1;
	size = ops_count3(j->images, j->positions, j->blocks);
	bytes = vtaops_norm_scratch(core, op);
	scratch_elements(core, op, &planes);
	if (ops_overlap(op->inp, size * core->inp_bytes, op->out, size * core->inp_bytes) ||
	    ops_overlap(op->scratch, bytes, op->out, size * core->inp_bytes) ||
	    ops_overlap(op->scratch, bytes, op->inp, size * core->inp_bytes))
		return ops_fail(j->b, VTAOPS_EINVAL, "the output or the scratch memory overlaps");
	j->src = ops_element(j->b, op->inp, size, core->inp_bytes);
	j->out = ops_element(j->b, op->out, size, core->inp_bytes);
	ops_element(j->b, op->scratch, 1, core->wgt_bytes);
	j->planes = ops_element(j->b, op->scratch, bytes / core->inp_bytes, core->inp_bytes);
	j->digits = j->planes + (uint32_t)planes;
	j->tables_wgt = ops_element(j->b, op->tables, (uint64_t)2 * j->each, core->wgt_bytes);
	j->tables_acc = ops_element(j->b, op->tables, 1, core->acc_bytes) +
			(uint32_t)(masks_at(core) / core->acc_bytes);
	if (op->form.c % block)
		j->ones = ops_element(j->b, op->ones, j->blocks, core->acc_bytes) + j->blocks - 1;
	j->gathers = j->rows ? j->blocks > 1 || j->positions % j->each :
		j->positions % j->each > 0;
	j->gathers = j->gathers || op->form.c % block || op->inp % core->wgt_bytes;
	j->plane = j->groups * j->each;
	if (!j->gathers)
		j->planes = j->src;
	return j->b->error;
}

void norm_move_planes(struct norm_job *j, struct ops_move m, bool store)
{
	uint32_t planes = m.rows;

	if (planes > 1 && m.stride > SIZE_MAX_16) {
		uint32_t stride = m.stride;

		m.rows = 1;
		m.stride = 0;
		for (uint32_t i = 0; i < planes; i++) {
			norm_move_planes(j, m, store);
			m.sram += m.cols;
			m.dram += stride;
		}
		return;
	}
	if (planes == 1)
		m.stride = 0;
	if (store)
		ops_store(j->b, &m);
	else
		ops_load(j->b, &m);
}

/* ---- gather ---- */

struct gather {
	uint32_t parts, part;		/* of the accumulators, and elements of one */
	uint32_t positions, blocks;	/* of a step */
	uint32_t masked;		/* accumulator of the mask */
	uint32_t uops[2];		/* of each part */
};

static int begin_gather(struct norm_job *j, struct gather *t)
{
	const struct vtaops_core *core = j->b->core;
	uint32_t acc = ops_depth(core->log_acc_depth), mask = j->ones > 0;

	if (acc < 1 + mask)
		return ops_fail_fit(j->b, "a copy of the input", 1 + mask, "acc elements", acc);
	t->parts = acc - mask >= 2 && ops_depth(core->log_uop_depth) >= 2 ? 2 : 1;
	t->part = min_u32((acc - mask) / t->parts, ITER_MAX);
	t->positions = min_u32(t->part, j->positions);
	t->blocks = min_u32((uint32_t)(t->part / max_u64(t->positions, 1)), j->blocks);
	t->masked = acc - 1;
	for (uint32_t i = 0; mask && i < t->parts; i++) {
		ops_uop(j->b, i * t->part, t->masked, 0);
		t->uops[i] = ops_uop_load(j->b, 1);
	}
	if (mask)
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_ACC, .sram = t->masked, .dram = j->ones, .rows = 1,
			.cols = 1 });
	j->steps = 0;
	return j->b->error;
}

/* @n positions from @at on, of @count blocks from @block on. */
static void gather_step(struct norm_job *j, const struct gather *t, uint32_t image, uint32_t at,
			uint32_t n, uint32_t block, uint32_t count)
{
	uint32_t part = j->steps % t->parts, acc = part * t->part;
	uint32_t from = j->src + image * j->blocks * j->positions;

	if (j->steps >= t->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	for (uint32_t i = 0; j->rows && i < count; i++)
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_ACC_8BIT, .sram = acc + i * n,
			.dram = from + at * j->blocks + block + i,
			.rows = n, .cols = 1, .stride = n > 1 ? j->blocks : 0 });
	if (!j->rows)
		norm_move_planes(j, (struct ops_move) {
			.type = VTA_ISA_ACC_8BIT, .sram = acc,
			.dram = from + block * j->positions + at,
			.rows = count, .cols = n, .stride = j->positions }, false);
	if (j->ones && block == j->blocks - 1)
		ops_alu(j->b, &(struct ops_loop) {
			.bgn = t->uops[part], .end = t->uops[part] + 1, .iter_out = 1,
			.iter_in = n, .dst_in = 1 }, VTA_ISA_MUL);
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	norm_move_planes(j, (struct ops_move) {
		.type = VTA_ISA_OUT, .sram = acc,
		.dram = j->planes + (image * j->blocks + block) * j->plane + at,
		.rows = count, .cols = n, .stride = j->plane }, true);
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	j->steps++;
}

static int gather(struct norm_job *j)
{
	uint32_t whole = j->blocks - (j->ones > 0);	/* the masked block is a step of its own */
	struct gather t = { .parts = 1 };

	if (begin_gather(j, &t))
		return j->b->error;
	for (uint32_t image = 0; image < j->images; image++) {
		for (uint32_t at = 0, n; at < j->positions && !j->b->error; at += n) {
			n = min_u32(t.positions, j->positions - at);
			for (uint32_t k = 0; k < whole && !j->b->error; k += t.blocks)
				gather_step(j, &t, image, at, n, k, min_u32(t.blocks, whole - k));
			if (whole < j->blocks)
				gather_step(j, &t, image, at, n, whole, 1);
		}
	}
	ops_barrier(j->b, 0, min_u32(j->steps, t.parts));
	return j->b->error;
}

int vtaops_norm(struct vtaops_builder *b, const struct vtaops_norm *op)
{
	struct norm_job j = { .b = b, .op = op };

	if (b->error || init(&j) || (j.gathers && gather(&j)) || norm_measure(&j))
		return b->error;
	return norm_apply(&j);
}
