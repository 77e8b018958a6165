// SPDX-License-Identifier: Apache-2.0
/*
 * info.c - derive element sizes and scratchpad depths from the configuration
 *
 * The formulas are those of docs/isa.md, "Configuration".
 */
#include <errno.h>
#include <stdbool.h>

#include "info.h"
#include "vtadev.h"

#define LOG_BYTE	3	/* bits */
#define LOG_UOP		2	/* bytes */
#define LOG_WIDTH_MAX	3	/* bits of an input or weight: int8 */
#define LOG_INT32	5	/* bits of an accumulator */
#define LOG_SHAPE_MAX	8	/* BATCH and BLOCK */
#define LOG_SIZE_MAX	30	/* bytes of an element or a scratchpad */

/* The logarithms of element sizes (bytes) and depths (elements). */
struct shape {
	int inp_elem, wgt_elem, acc_elem;
	int uop_depth, inp_depth, wgt_depth, acc_depth;
};

static struct shape shape_of(const struct vta_info *raw)
{
	struct shape s;

	s.inp_elem = raw->log_batch + raw->log_block + raw->log_inp_width - LOG_BYTE;
	s.wgt_elem = 2 * raw->log_block + raw->log_wgt_width - LOG_BYTE;
	s.acc_elem = raw->log_batch + raw->log_block + raw->log_acc_width - LOG_BYTE;
	s.uop_depth = raw->log_uop_buff_size - LOG_UOP;
	s.inp_depth = raw->log_inp_buff_size - s.inp_elem;
	s.wgt_depth = raw->log_wgt_buff_size - s.wgt_elem;
	s.acc_depth = raw->log_acc_buff_size - s.acc_elem;
	return s;
}

static bool within(int value, int low, int high)
{
	return value >= low && value <= high;
}

static int max(int a, int b)
{
	return a > b ? a : b;
}

/* Sizes that can be shifted by, elements of whole bytes, fields that fit. */
static bool valid(const struct vta_info *raw, const struct shape *s)
{
	return within(raw->log_inp_width, 1, LOG_WIDTH_MAX) &&
	       within(raw->log_wgt_width, 1, LOG_WIDTH_MAX) &&
	       raw->log_acc_width == LOG_INT32 &&
	       within(raw->log_batch, 0, LOG_SHAPE_MAX) &&
	       within(raw->log_block, 1, LOG_SHAPE_MAX) &&
	       within(s->inp_elem, 0, LOG_SIZE_MAX) &&
	       within(s->wgt_elem, 0, LOG_SIZE_MAX) &&
	       within(s->acc_elem, 0, LOG_SIZE_MAX) &&
	       raw->log_uop_buff_size <= LOG_SIZE_MAX &&
	       raw->log_inp_buff_size <= LOG_SIZE_MAX &&
	       raw->log_wgt_buff_size <= LOG_SIZE_MAX &&
	       raw->log_acc_buff_size <= LOG_SIZE_MAX &&
	       s->uop_depth >= 0 && s->inp_depth >= 0 &&
	       s->wgt_depth >= 0 && s->acc_depth >= 0 &&
	       /* a micro-op; GEMM's second word is twice a smaller sum */
	       s->acc_depth + max(s->acc_depth, s->inp_depth) + s->wgt_depth <= 32 &&
	       /* first word of GEMM and ALU: 8 bits, the range, two counts of 14 */
	       8 + 2 * s->uop_depth + 1 + 28 <= 64 &&
	       /* second word of ALU: four factors, opcode, flag, immediate */
	       4 * s->acc_depth + 20 <= 64;
}

int info_derive(const struct vta_info *raw, struct vtadev_info *info)
{
	struct shape s = shape_of(raw);
	uint32_t largest;

	if (!valid(raw, &s) || raw->ring_order_max > 16)
		return -EPROTO;

	info->contract_major = VTA_CONTRACT_MAJOR(raw->contract);
	info->contract_minor = VTA_CONTRACT_MINOR(raw->contract);
	info->features = raw->features;
	info->serial = raw->serial;
	info->mem_size = raw->mem_size;
	info->queues = raw->queues;
	info->contexts = raw->contexts;
	info->ring_entries_max = 1u << raw->ring_order_max;
	info->clock_khz = raw->clock_khz;
	info->vectors = raw->vectors;
	info->hw_ver_major = (uint8_t)(raw->hw_ver >> 16);
	info->hw_ver_minor = (uint8_t)(raw->hw_ver >> 8);
	info->hw_ver_patch = (uint8_t)raw->hw_ver;

	info->log_inp_width = raw->log_inp_width;
	info->log_wgt_width = raw->log_wgt_width;
	info->log_acc_width = raw->log_acc_width;
	info->log_batch = raw->log_batch;
	info->log_block = raw->log_block;
	info->log_uop_buff_size = raw->log_uop_buff_size;
	info->log_inp_buff_size = raw->log_inp_buff_size;
	info->log_wgt_buff_size = raw->log_wgt_buff_size;
	info->log_acc_buff_size = raw->log_acc_buff_size;

	info->log_uop_depth = (uint8_t)s.uop_depth;
	info->log_inp_depth = (uint8_t)s.inp_depth;
	info->log_wgt_depth = (uint8_t)s.wgt_depth;
	info->log_acc_depth = (uint8_t)s.acc_depth;
	info->uop_depth = 1u << s.uop_depth;
	info->inp_depth = 1u << s.inp_depth;
	info->wgt_depth = 1u << s.wgt_depth;
	info->acc_depth = 1u << s.acc_depth;

	info->batch = 1u << raw->log_batch;
	info->block = 1u << raw->log_block;
	info->inp_bytes = 1u << s.inp_elem;
	info->wgt_bytes = 1u << s.wgt_elem;
	info->acc_bytes = 1u << s.acc_elem;
	info->out_bytes = info->inp_bytes;	/* OUT has the width of INP */

	largest = info->inp_bytes;
	if (largest < info->wgt_bytes)
		largest = info->wgt_bytes;
	if (largest < info->acc_bytes)
		largest = info->acc_bytes;
	info->elem_bytes_max = largest;
	info->save_size = raw->save_size;
	return 0;
}
