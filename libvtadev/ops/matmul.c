// SPDX-License-Identifier: Apache-2.0
/*
 * Products of two computed matrices. GEMM takes its second operand from the wgt scratchpad, where
 * an element is BLOCK rows of BLOCK columns. In memory the rows of a matrix are apart, so
 *	gather	brings BLOCK rows of a block of columns together: by LOAD to the accumulators and
 *		STORE, without arithmetic. That is an element of the transpose, as GEMM multiplies
 *		by the rows of a weight
 *	turn	transposes each element, for a matrix that is to be taken as it is: GEMM of the
 *		identity's rows with it
 * Both write to scratch memory, from where a layer of as many groups as there are heads reads.
 * Lanes behind the last of k, which may have any value in both operands, become 0 in one.
 */
#include "fetch.h"
#include "layer.h"

struct job {
	struct vtaops_builder *b;
	const struct vtaops_matmul *op;
	struct ops_fetch fetch;
	uint32_t heads;			/* of all images */
	uint32_t each;			/* OUT elements of a wgt element */
	uint32_t rows, cols;		/* of b of a head: elements of rows, blocks */
	uint32_t rblocks;		/* blocks of rows */
	struct rows b_at;
	uint32_t src;			/* element indices: b, */
	uint32_t gathered, turned;	/* what gather and turn write, of OUT elements */
	uint32_t mask;			/* ACC element with ones for the lanes in use; 0: all are */
	uint32_t masked;		/* accumulator that it is in */
	uint32_t parts, size;		/* of the accumulators, and wgt elements of one */
	uint32_t uops[2], mask_uops[2];
	uint32_t steps;
};

static uint32_t blocks_of(const struct vtaops_core *core, uint32_t n)
{
	return div_up(n, core->block);
}

/* wgt elements of b of a head. */
static uint64_t weights_of(const struct vtaops_core *core, const struct vtaops_matmul *op)
{
	return (uint64_t)blocks_of(core, op->n) * blocks_of(core, op->k);
}

size_t vtaops_matmul_scratch(const struct vtaops_core *core, const struct vtaops_matmul *op)
{
	uint64_t bytes;

	if (!dim_ok(op->images) || !dim_ok(op->heads) || !dim_ok(op->n) || !dim_ok(op->k))
		return 0;
	bytes = ops_count3(op->images, op->heads, weights_of(core, op)) *
		(op->b_turned ? 1 : 2) * core->wgt_bytes;
	return bytes <= UINT32_MAX ? (size_t)bytes : 0;
}

/* The places of a matrix of @rows elements of rows and @blocks of columns of each head. */
static struct rows place(const struct vtaops_matmul *op, bool columns, uint32_t rows,
			 uint32_t blocks)
{
	if (columns)
		return (struct rows) { .stride = op->heads * blocks, .head = blocks,
				       .image = op->heads * blocks * rows };
	return (struct rows) { .stride = blocks, .head = rows * blocks,
			       .image = op->heads * rows * blocks };
}

static int check_shape(struct job *j)
{
	const struct vtaops_matmul *op = j->op;
	const struct vtaops_core *core = j->b->core;
	uint32_t b_rows = op->b_turned ? op->n : op->k, b_cols = op->b_turned ? op->k : op->n;
	bool several = (uint64_t)op->images * op->heads > 1;

	if (!dim_ok(op->images) || !dim_ok(op->heads) || !dim_ok(op->m) || !dim_ok(op->n) ||
	    !dim_ok(op->k))
		return ops_fail(j->b, VTAOPS_EINVAL, "a dimension is 0 or more than 2^20");
	if (op->post.bias || op->post.muls || op->post.shifts)
		return ops_fail(j->b, VTAOPS_EINVAL, "the output stage has vectors");
	if (core->log_inp_width != core->log_wgt_width || core->log_batch > core->log_block)
		return ops_fail(j->b, VTAOPS_ECORE,
				"the core's outputs are no weights: widths differ, or BATCH is above BLOCK");
	if (several && (op->m % core->batch || b_rows % core->batch))
		return ops_fail(j->b, VTAOPS_EINVAL, "a head's rows are no multiple of BATCH");
	if (op->heads > 1 && ((op->a_columns && op->k % core->block) ||
			      (op->b_columns && b_cols % core->block) ||
			      (op->out_columns && op->n % core->block)))
		return ops_fail(j->b, VTAOPS_EINVAL, "a head's columns are no whole blocks");
	if (op->k % core->block && !op->ones)
		return ops_fail(j->b, VTAOPS_EINVAL, "k is no whole blocks, and there are no ones");
	if (!vtaops_matmul_scratch(core, op))
		return ops_fail(j->b, VTAOPS_EINVAL, "the scratch memory is more than 4 GiB");
	return 0;
}

static int init(struct job *j)
{
	const struct vtaops_matmul *op = j->op;
	const struct vtaops_core *core = j->b->core;
	uint32_t rows = op->b_turned ? op->n : op->k;
	uint64_t weights;

	if (check_shape(j) || ops_fetch_init(j->b, &j->fetch, op->identity))
		return j->b->error;
	j->heads = op->images * op->heads;
	j->each = core->block >> core->log_batch;
	j->rows = div_up(rows, core->batch);
	j->rblocks = blocks_of(core, rows);
	j->cols = blocks_of(core, op->b_turned ? op->k : op->n);
	j->b_at = place(op, op->b_columns, j->rows, j->cols);
	weights = j->heads * weights_of(core, op);
	j->src = ops_element(j->b, op->b, ops_count3(j->heads, j->rows, j->cols), core->inp_bytes);
	j->turned = ops_element(j->b, op->scratch, weights * (op->b_turned ? 1 : 2),
				core->wgt_bytes) * j->each;
	j->gathered = j->turned + (op->b_turned ? 0 : (uint32_t)weights * j->each);
	if (ops_overlap(op->scratch, vtaops_matmul_scratch(core, op), op->out,
			ops_count3(j->heads, div_up(op->m, core->batch), blocks_of(core, op->n)) *
			core->inp_bytes) ||
	    ops_overlap(op->scratch, vtaops_matmul_scratch(core, op), op->b,
			ops_count3(j->heads, j->rows, j->cols) * core->inp_bytes) ||
	    ops_overlap(op->scratch, vtaops_matmul_scratch(core, op), op->a,
			ops_count3(j->heads, div_up(op->m, core->batch), blocks_of(core, op->k)) *
			core->inp_bytes))
		return ops_fail(j->b, VTAOPS_EINVAL, "the scratch memory overlaps a matrix");
	if (op->k % core->block)
		j->mask = ops_element(j->b, op->ones, blocks_of(core, op->k), core->acc_bytes) +
			  blocks_of(core, op->k) - 1;
	/* STOREs of whole wgt elements are apart by a row of these. */
	if (j->b_at.stride > SIZE_MAX_16 ||
	    max_u64(j->cols, j->rblocks) * j->each > SIZE_MAX_16)
		return ops_fail_fit(j->b, "a row of the matrix",
				    max_u64(j->b_at.stride, max_u64(j->cols, j->rblocks) * j->each),
				    "blocks", SIZE_MAX_16);
	return j->b->error;
}

/* wgt elements of a part of the accumulators, of which the last is for the mask; 0: none fits. */
static uint32_t fit(const struct job *j, uint32_t parts)
{
	uint32_t acc = (ops_depth(j->b->core->log_acc_depth) - 1) / parts / j->each;

	return min_u32(acc, min_u32(SIZE_MAX_16, ITER_MAX) / j->each);
}

/*
 * Choose the size of a step, of which two are under way if two fit; @inp: elements of the inp
 * scratchpad that a step of one needs, @uops: micro-ops that each of its weights needs.
 */
static int begin(struct job *j, uint32_t inp, uint32_t uops)
{
	const struct vtaops_core *core = j->b->core;
	uint32_t acc = ops_depth(core->log_acc_depth), uop = ops_depth(core->log_uop_depth);
	uint32_t most = uops ? min_u32(ops_depth(core->log_wgt_depth), uop > 2 ? uop - 2 : 0) :
			ops_fetch_max(j->b, &j->fetch) / j->each;
	bool fits;

	j->steps = 0;
	j->masked = acc - 1;
	for (j->parts = uop < 4 ? 1 : 2; j->parts; j->parts--) {
		j->size = min_u32(fit(j, j->parts), most / j->parts);
		if (j->size)
			break;
	}
	fits = j->parts > 0;
	if (!fits)
		j->parts = 1;	/* a divisor */
	if (inp > ops_depth(core->log_inp_depth))
		return ops_fail_fit(j->b, "an element of the weights", inp, "inp elements",
				    ops_depth(core->log_inp_depth));
	if (!fits && fit(j, 1))
		return ops_fail_fit(j->b, "an element of the weights", 3, "micro-ops", uop);
	if (!fits)
		return ops_fail_fit(j->b, "an element of the weights", j->each + 1, "acc elements",
				    acc);
	if (uop < 2)
		return ops_fail_fit(j->b, "an element of the weights", 2, "micro-ops", uop);
	if (j->mask)
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_ACC, .sram = j->masked, .dram = j->mask, .rows = 1,
			.cols = 1 });
	return j->b->error;
}

static uint32_t base_of(const struct job *j, uint32_t part)
{
	return part * j->size * j->each;
}

static void end(struct job *j, unsigned int to_load)
{
	ops_barrier(j->b, to_load, min_u32(j->steps, j->parts));
}

/* Multiply @count accumulators, from the micro-op's on, by the mask. */
static void apply_mask(struct job *j, uint32_t uop, uint32_t count)
{
	const struct ops_loop all = { .bgn = uop, .end = uop + 1, .iter_out = 1,
				      .iter_in = count, .dst_in = 1 };

	ops_alu(j->b, &all, VTA_ISA_MUL);
}

/* ---- gather ---- */

/* @count blocks of rows from block @block on, of block @col of columns. */
static void gather_step(struct job *j, uint32_t head, uint32_t col, uint32_t block, uint32_t count)
{
	const struct vtaops_matmul *op = j->op;
	uint32_t part = j->steps % j->parts, acc = base_of(j, part);
	uint32_t at = (head * j->rblocks + block) * j->cols + col;

	if (j->steps >= j->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	ops_fetch(j->b, &j->fetch, &(struct ops_region) {
		.dram = j->src + head / op->heads * j->b_at.image +
			head % op->heads * j->b_at.head + col,
		.h = j->rows, .w = j->b_at.stride, .y = block * j->each,
		.rows = count * j->each, .cols = 1 }, 1, acc, j->uops[part]);
	if (j->mask && op->b_turned && col == j->cols - 1)
		apply_mask(j, j->mask_uops[part], count * j->each);
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	ops_store(j->b, &(struct ops_move) {
		.type = VTA_ISA_OUT, .sram = acc, .dram = j->gathered + at * j->each,
		.rows = count, .cols = j->each, .stride = j->cols * j->each });
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	j->steps++;
}

static int gather(struct job *j)
{
	if (begin(j, j->fetch.by_gemm ? j->each : 0, 0))
		return j->b->error;
	for (uint32_t i = 0; i < j->parts; i++) {
		ops_uop(j->b, base_of(j, i), 0, 0);
		ops_uop(j->b, base_of(j, i), j->masked, 0);
		j->uops[i] = ops_uop_load(j->b, 2);
		j->mask_uops[i] = j->uops[i] + 1;
	}
	for (uint32_t head = 0; head < j->heads; head++)
		for (uint32_t col = 0; col < j->cols; col++)
			for (uint32_t at = 0; at < j->rblocks && !j->b->error; at += j->size)
				gather_step(j, head, col, at, min_u32(j->size, j->rblocks - at));
	end(j, ops_fetch_tokens(&j->fetch));
	return j->b->error;
}

/* ---- turn ---- */

static void make_turn_uops(struct job *j)
{
	for (uint32_t i = 0; i < j->parts; i++) {
		for (uint32_t k = 0; k < j->size; k++)
			ops_uop(j->b, base_of(j, i) + k * j->each, 0, i * j->size + k);
		j->uops[i] = ops_uop_load(j->b, j->size);
		j->mask_uops[i] = 0;
	}
	for (uint32_t i = 0; i < j->parts && j->mask; i++) {
		ops_uop(j->b, base_of(j, i), j->masked, 0);
		j->mask_uops[i] = ops_uop_load(j->b, 1);
	}
}

/* @count blocks of k from block @block on, of block @col of columns. */
static void turn_step(struct job *j, uint32_t head, uint32_t col, uint32_t block, uint32_t count)
{
	uint32_t part = j->steps % j->parts, acc = base_of(j, part);
	uint32_t from = (head * j->rblocks + block) * j->cols + col;
	uint32_t to = (head * j->cols + col) * j->rblocks + block;
	struct ops_loop all = { .bgn = j->uops[part], .end = j->uops[part] + count, .iter_out = 1,
				.iter_in = j->each, .dst_in = 1, .src_in = 1 };

	if (j->steps >= j->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	if (!j->steps)
		ops_load(j->b, &(struct ops_move) {
			.type = VTA_ISA_INP, .dram = j->op->identity / j->b->core->inp_bytes,
			.rows = 1, .cols = j->each });
	ops_load(j->b, &(struct ops_move) {
		.type = VTA_ISA_WGT, .sram = part * j->size, .dram = j->gathered / j->each + from,
		.rows = count, .cols = 1, .stride = count > 1 ? j->cols : 0 });
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	if (j->steps >= j->parts)
		ops_wait(j->b, VTA_ISA_POP_NEXT);
	ops_gemm(j->b, &all, true);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	ops_gemm(j->b, &all, false);
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	if (j->mask && block + count == j->rblocks)
		apply_mask(j, j->mask_uops[part], j->each);
	ops_signal(j->b, VTA_ISA_PUSH_NEXT);
	ops_wait(j->b, VTA_ISA_POP_PREV);
	ops_store(j->b, &(struct ops_move) {
		.type = VTA_ISA_OUT, .sram = acc, .dram = j->turned + to * j->each,
		.rows = 1, .cols = count * j->each });
	ops_signal(j->b, VTA_ISA_PUSH_PREV);
	j->steps++;
}

static int turn(struct job *j)
{
	if (begin(j, j->each, 1))
		return j->b->error;
	make_turn_uops(j);
	for (uint32_t head = 0; head < j->heads; head++) {
		for (uint32_t col = 0; col < j->cols; col++) {
			for (uint32_t at = 0, n; at < j->rblocks && !j->b->error; at += n) {
				n = min_u32(j->size, j->rblocks - at);
				/* The block with a mask is a step of its own. */
				if (j->mask && n > 1 && at + n == j->rblocks)
					n--;
				turn_step(j, head, col, at, n);
			}
		}
	}
	end(j, min_u32(j->steps, j->parts));
	return j->b->error;
}

/* ---- the product ---- */

static int multiply(struct job *j)
{
	const struct axis one = {
		.in = 1, .out = 1, .all = 1, .taps = 1, .dilation = 1, .step = 1, .scale = 1,
		.span = 1,
	};
	const struct vtaops_matmul *op = j->op;
	const struct vtaops_core *core = j->b->core;
	struct layer l = {
		.rows = true, .images = 1, .groups = j->heads, .heads = op->heads,
		.ic = blocks_of(core, op->k), .oc = blocks_of(core, op->n), .y = one, .x = one,
	};

	l.y.in = div_up(op->m, core->batch);
	l.y.out = l.y.in;
	l.y.all = l.y.in;
	l.from = place(op, op->a_columns, l.y.in, l.ic);
	l.to = place(op, op->out_columns, l.y.in, l.oc);
	if (l.from.stride > SIZE_MAX_16 || l.to.stride > SIZE_MAX_16)
		return ops_fail_fit(j->b, "a row of the matrix",
				    max_u64(l.from.stride, l.to.stride), "blocks", SIZE_MAX_16);
	return ops_lower_layer(j->b, &l, op->a, op->scratch, op->out, &op->post,
			       &(struct residual) { 0 });
}

int vtaops_matmul(struct vtaops_builder *b, const struct vtaops_matmul *op)
{
	struct job j = { .b = b, .op = op, .each = 1, .parts = 1 };

	if (b->error || init(&j) || gather(&j) || (!op->b_turned && turn(&j)))
		return b->error;
	return multiply(&j);
}
