/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ops.hh - operators on TVM's VTA runtime, by the calls that its compiled operators make
 *
 * What TVM generates for a schedule of VTA is a sequence of calls of vta/runtime.h: loads,
 * kernels of micro-ops, stores, tokens between the stages, and a synchronisation. The two
 * operators here make the same calls in the same order as TVM's dense and conv2d.
 */
#ifndef TESTS_TVM_OPS_HH
#define TESTS_TVM_OPS_HH

#include <cstddef>
#include <cstdint>
#include <vector>

/* The runtime's stages, between which tokens go. */
enum Stage { LOAD = 1, COMPUTE = 2, STORE = 3 };

/* Memory of the runtime, with a copy for the CPU. */
class Buffer {
public:
	explicit Buffer(size_t bytes);
	~Buffer();
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;

	void Upload();
	void Download();

	void *handle;
	std::vector<int8_t> cpu;
};

/* The runtime's handles of micro-op kernels, one for each place in compiled code. */
struct Kernels {
	void *reset = nullptr, *product = nullptr, *shift = nullptr, *low = nullptr,
	     *high = nullptr;
};

/*
 * The pop that waits for an operator's last store comes before the synchronisation; or behind
 * it, as in TVM (coproc_sync, then coproc_dep_pop(3, 2)): the first compute instruction of the
 * next run takes the token.
 */
enum class LastPop { BEFORE, BEHIND };

/*
 * out[n][m] = clip((inp[n][k] · wgt[m][k]) >> shift, -128, 127), in the layout of VTA: tiles of
 * BATCH x BLOCK_IN, BLOCK_OUT x BLOCK_IN and BATCH x BLOCK_OUT. Double buffered.
 */
struct Dense {
	Dense(unsigned int seed, uint32_t n, uint32_t m, uint32_t k);

	void Push();			/* all calls but the synchronisation */
	bool Check();			/* compare out with the CPU's, and clear it */
	uint64_t GemmOps() const;	/* micro-ops that multiply, of a run */

	uint32_t n, m, k;		/* in tiles */
	Buffer inp, wgt, out;
	Kernels kernels;
};

/* conv2d 3 x 3, stride 1, padding 1, on tiles of BLOCK channels; then relu and shift. */
struct Conv2d {
	Conv2d(unsigned int seed, uint32_t ci, uint32_t co, uint32_t size);

	void Push();
	bool Check();

	uint32_t ci, co, size;		/* channels in tiles; height and width */
	Buffer inp, wgt, out;
	Kernels kernels;
};

/* Call VTASynchronize(), with the pop that Push() left out; passes exceptions on. */
void Sync(LastPop last, uint32_t wait_cycles);

#endif /* TESTS_TVM_OPS_HH */
