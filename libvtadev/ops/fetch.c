// SPDX-License-Identifier: Apache-2.0
/* Tensors of INP's width into the accumulators, for what ALU computes. */
#include "fetch.h"

int ops_fetch_init(struct vtaops_builder *b, struct ops_fetch *f, uint32_t identity)
{
	*f = (struct ops_fetch) { .by_gemm = b->core->log_inp_width != 3 };
	if (!f->by_gemm)
		return b->error;
	if (!identity)
		return ops_fail(b, VTAOPS_ECORE,
				"inputs narrower than 8 bits need the identity's address");
	f->identity = ops_element(b, identity, 1, b->core->wgt_bytes);
	return b->error;
}

uint32_t ops_fetch_max(const struct vtaops_builder *b, const struct ops_fetch *f)
{
	return f->by_gemm ? ops_depth(b->core->log_inp_depth) : UINT32_MAX;
}

void ops_fetch(struct vtaops_builder *b, struct ops_fetch *f, const struct ops_region *r,
	       uint32_t planes, uint32_t acc, uint32_t uop)
{
	struct ops_region to = *r;
	struct ops_loop all = {
		.bgn = uop, .end = uop + 1, .iter_out = planes * r->rows, .iter_in = r->cols,
		.dst_out = r->cols, .dst_in = 1, .src_out = r->cols, .src_in = 1,
	};

	if (!f->by_gemm) {
		to.type = VTA_ISA_ACC_8BIT;
		to.sram = acc;
		ops_load_planes(b, &to, planes);
		return;
	}
	/* The accumulators may wait for the store module; the load module does not. */
	ops_gemm(b, &all, true);
	if (f->fetches)
		ops_wait(b, VTA_ISA_POP_NEXT);
	else
		ops_load(b, &(struct ops_move) {
			.type = VTA_ISA_WGT, .dram = f->identity, .rows = 1, .cols = 1 });
	to.type = VTA_ISA_INP;
	to.sram = 0;
	ops_load_planes(b, &to, planes);
	ops_signal(b, VTA_ISA_PUSH_NEXT);
	ops_wait(b, VTA_ISA_POP_PREV);
	ops_gemm(b, &all, false);
	ops_signal(b, VTA_ISA_PUSH_PREV);
	f->fetches++;
}
