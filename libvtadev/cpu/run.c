// SPDX-License-Identifier: Apache-2.0
/* All kernels alike, by their numbers. */
#include "cpu_impl.h"

struct kernel {
	const char *name;
	size_t bytes;		/* of the parameters */
	int (*need)(const void *params, struct vtacpu_need *need);
	void (*run)(const void *params, void *const *io, void *scratch);
};

/* The two functions of a kernel, with parameters of any type. */
#define KERNEL(name)								\
static int need_##name(const void *params, struct vtacpu_need *need)		\
{										\
	return cpu_##name##_need(params, need);					\
}										\
										\
static void run_##name(const void *params, void *const *io, void *scratch)	\
{										\
	vtacpu_##name(params, io, scratch);					\
}

KERNEL(conv_f32)
KERNEL(conv_i8)
KERNEL(gemm_f32)
KERNEL(gemm_i8)
KERNEL(pool_window_f32)
KERNEL(pool_window_i8)
KERNEL(binary_f32)
KERNEL(binary_i8)
KERNEL(unary_f32)
KERNEL(rescale_i8)
KERNEL(table_i8)
KERNEL(batch_norm_f32)
KERNEL(softmax_f32)
KERNEL(reduce_f32)
KERNEL(resize)
KERNEL(move)
KERNEL(pad)
KERNEL(quantise)
KERNEL(dequantise)
KERNEL(pack)
KERNEL(unpack)
KERNEL(binary)
KERNEL(select)
KERNEL(cast)
KERNEL(reduce)
KERNEL(log_softmax_f32)
KERNEL(norm_f32)
KERNEL(gather)
KERNEL(gather_elements)
KERNEL(scatter_elements)
KERNEL(gather_nd)
KERNEL(scatter_nd)
KERNEL(arg)
KERNEL(top)
KERNEL(cum_sum)
KERNEL(recurrent)
KERNEL(hardmax_f32)
KERNEL(one_hot)
KERNEL(reverse_sequence)
KERNEL(lrn_f32)
KERNEL(det_f32)
KERNEL(non_zero)
KERNEL(count)
KERNEL(unique)
KERNEL(unique_inverse)
KERNEL(nms)
KERNEL(resample)
KERNEL(grid_sample)
KERNEL(roi_align)
KERNEL(contract_f32)
KERNEL(conv_3d_f32)
KERNEL(pool_3d_f32)
KERNEL(dft_f32)
KERNEL(gemm_packed_f32)
KERNEL(step_f32)
KERNEL(round_f32)
KERNEL(gemm_rounded)
KERNEL(norm_across_f32)
KERNEL(norm_i8)

#define ENTRY(name, params) { #name, sizeof(struct vtacpu_##params), need_##name, run_##name }

static const struct kernel kernels[VTACPU_KERNELS] = {
	[VTACPU_CONV_F32] = ENTRY(conv_f32, conv_f32),
	[VTACPU_CONV_I8] = ENTRY(conv_i8, conv_i8),
	[VTACPU_GEMM_F32] = ENTRY(gemm_f32, gemm_f32),
	[VTACPU_GEMM_I8] = ENTRY(gemm_i8, gemm_i8),
	[VTACPU_POOL_WINDOW_F32] = ENTRY(pool_window_f32, pool_window_f32),
	[VTACPU_POOL_WINDOW_I8] = ENTRY(pool_window_i8, pool_window_i8),
	[VTACPU_BINARY_F32] = ENTRY(binary_f32, binary_f32),
	[VTACPU_BINARY_I8] = ENTRY(binary_i8, binary_i8),
	[VTACPU_UNARY_F32] = ENTRY(unary_f32, unary_f32),
	[VTACPU_RESCALE_I8] = ENTRY(rescale_i8, rescale_i8),
	[VTACPU_TABLE_I8] = ENTRY(table_i8, table_i8),
	[VTACPU_BATCH_NORM_F32] = ENTRY(batch_norm_f32, batch_norm_f32),
	[VTACPU_SOFTMAX_F32] = ENTRY(softmax_f32, softmax_f32),
	[VTACPU_REDUCE_F32] = ENTRY(reduce_f32, reduce_f32),
	[VTACPU_RESIZE] = ENTRY(resize, resize),
	[VTACPU_MOVE] = ENTRY(move, move),
	[VTACPU_PAD] = ENTRY(pad, pad),
	[VTACPU_QUANTISE] = ENTRY(quantise, quantise),
	[VTACPU_DEQUANTISE] = ENTRY(dequantise, dequantise),
	[VTACPU_PACK] = ENTRY(pack, pack),
	[VTACPU_UNPACK] = ENTRY(unpack, pack),
	[VTACPU_BINARY] = ENTRY(binary, binary),
	[VTACPU_SELECT] = ENTRY(select, select),
	[VTACPU_CAST] = ENTRY(cast, cast),
	[VTACPU_REDUCE] = ENTRY(reduce, reduce),
	[VTACPU_LOG_SOFTMAX_F32] = ENTRY(log_softmax_f32, softmax_f32),
	[VTACPU_NORM_F32] = ENTRY(norm_f32, norm_f32),
	[VTACPU_GATHER] = ENTRY(gather, gather),
	[VTACPU_GATHER_ELEMENTS] = ENTRY(gather_elements, elements),
	[VTACPU_SCATTER_ELEMENTS] = ENTRY(scatter_elements, elements),
	[VTACPU_GATHER_ND] = ENTRY(gather_nd, slices),
	[VTACPU_SCATTER_ND] = ENTRY(scatter_nd, slices),
	[VTACPU_ARG] = ENTRY(arg, arg),
	[VTACPU_TOP] = ENTRY(top, top),
	[VTACPU_CUM_SUM] = ENTRY(cum_sum, cum_sum),
	[VTACPU_RECURRENT] = ENTRY(recurrent, recurrent),
	[VTACPU_HARDMAX_F32] = ENTRY(hardmax_f32, softmax_f32),
	[VTACPU_ONE_HOT] = ENTRY(one_hot, one_hot),
	[VTACPU_REVERSE_SEQUENCE] = ENTRY(reverse_sequence, reverse_sequence),
	[VTACPU_LRN_F32] = ENTRY(lrn_f32, lrn_f32),
	[VTACPU_DET_F32] = ENTRY(det_f32, det_f32),
	[VTACPU_NON_ZERO] = ENTRY(non_zero, non_zero),
	[VTACPU_COUNT] = ENTRY(count, count),
	[VTACPU_UNIQUE] = ENTRY(unique, unique),
	[VTACPU_UNIQUE_INVERSE] = ENTRY(unique_inverse, unique),
	[VTACPU_NMS] = ENTRY(nms, nms),
	[VTACPU_RESAMPLE] = ENTRY(resample, resample),
	[VTACPU_GRID_SAMPLE] = ENTRY(grid_sample, grid_sample),
	[VTACPU_ROI_ALIGN] = ENTRY(roi_align, roi_align),
	[VTACPU_CONTRACT_F32] = ENTRY(contract_f32, contract_f32),
	[VTACPU_CONV_3D_F32] = ENTRY(conv_3d_f32, conv_3d_f32),
	[VTACPU_POOL_3D_F32] = ENTRY(pool_3d_f32, pool_3d_f32),
	[VTACPU_DFT_F32] = ENTRY(dft_f32, dft_f32),
	[VTACPU_GEMM_PACKED_F32] = ENTRY(gemm_packed_f32, gemm_f32),
	[VTACPU_STEP_F32] = ENTRY(step_f32, step_f32),
	[VTACPU_ROUND_F32] = ENTRY(round_f32, round_f32),
	[VTACPU_GEMM_ROUNDED] = ENTRY(gemm_rounded, gemm_rounded),
	[VTACPU_NORM_ACROSS_F32] = ENTRY(norm_across_f32, norm_f32),
	[VTACPU_NORM_I8] = ENTRY(norm_i8, norm_i8),
};

const char *vtacpu_kernel_name(uint32_t kernel)
{
	return kernel < VTACPU_KERNELS ? kernels[kernel].name : NULL;
}

size_t vtacpu_params_bytes(uint32_t kernel)
{
	return kernel < VTACPU_KERNELS ? kernels[kernel].bytes : 0;
}

int vtacpu_need(uint32_t kernel, const void *params, struct vtacpu_need *need)
{
	*need = (struct vtacpu_need) { .why = NULL };
	if (!vtacpu_kernel_name(kernel))
		return cpu_bad(need, "no such kernel");
	if (kernels[kernel].need(params, need))
		return -1;
	if (need->work > VTACPU_WORK_MAX)
		return cpu_bad(need, "it takes more than 2^40 multiplications");
	return 0;
}

void vtacpu_run(uint32_t kernel, const void *params, void *const *io, void *scratch)
{
	kernels[kernel].run(params, io, scratch);
}
