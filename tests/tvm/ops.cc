// SPDX-License-Identifier: GPL-2.0-only
/*
 * ops.cc - operators on TVM's VTA runtime, by the calls that its compiled operators make
 */
#include "ops.hh"

#include <algorithm>
#include <vta/hw_spec.h>

#include "runtime.h"

static const int kShift = 4;

static const size_t kInpBytes = VTA_INP_ELEM_BYTES, kWgtBytes = VTA_WGT_ELEM_BYTES,
	kOutBytes = VTA_OUT_ELEM_BYTES;

/* ---- Memory ---- */

Buffer::Buffer(size_t bytes) : handle(VTABufferAlloc(bytes)), cpu(bytes) {}

Buffer::~Buffer()
{
	VTABufferFree(handle);
}

void Buffer::Upload()
{
	VTABufferCopy(cpu.data(), 0, handle, 0, cpu.size(), VTA_MEMCPY_H2D);
}

void Buffer::Download()
{
	VTABufferCopy(handle, 0, cpu.data(), 0, cpu.size(), VTA_MEMCPY_D2H);
}

static void Fill(Buffer *b, unsigned int seed)
{
	uint32_t x = seed * 2654435761u + 12345;

	for (auto &value : b->cpu) {
		x = x * 1664525u + 1013904223u;
		value = static_cast<int8_t>(static_cast<int>(x >> 24) % 16 - 8);
	}
	b->Upload();
}

/* ---- Kernels of micro-ops, as the runtime records them ---- */

struct Kernel {
	uint32_t mode, reset, opcode;
	int32_t imm;
	uint32_t outer, inner;			/* loops; 0: none */
	uint32_t outer_f[3], inner_f[3];	/* factors: dst, src, wgt */
	uint32_t ops;				/* micro-ops: dst and src go up by one, row by row */
	uint32_t row, src_row;
	uint32_t src, wgt;
};

/* The runtime calls back without an argument of ours. */
static thread_local Kernel recording;

static int Record(void *)
{
	const Kernel &k = recording;

	if (k.outer)
		VTAUopLoopBegin(k.outer, k.outer_f[0], k.outer_f[1], k.outer_f[2]);
	if (k.inner)
		VTAUopLoopBegin(k.inner, k.inner_f[0], k.inner_f[1], k.inner_f[2]);
	for (uint32_t i = 0; i < k.ops; i++)
		VTAUopPush(k.mode, k.reset, i,
			   k.src + (k.row ? i / k.row * k.src_row + i % k.row : i), k.wgt,
			   k.opcode, k.mode, k.imm);
	if (k.inner)
		VTAUopLoopEnd();
	if (k.outer)
		VTAUopLoopEnd();
	return 0;
}

/* Each place in compiled code has a handle for its kernels, and a number if it has several. */
static void Gemm(void **handle, const Kernel &k, int number)
{
	recording = k;
	VTAPushGEMMOp(handle, Record, &number, sizeof(number));
}

static void Alu(void **handle, const Kernel &k)
{
	recording = k;
	VTAPushALUOp(handle, Record, nullptr, 0);
}

static VTACommandHandle Cmd()
{
	return VTATLSCommandHandle();
}

static void DepPush(Stage from, Stage to)
{
	VTADepPush(Cmd(), from, to);
}

static void DepPop(Stage from, Stage to)
{
	VTADepPop(Cmd(), from, to);
}

void Sync(LastPop last, uint32_t wait_cycles)
{
	if (last == LastPop::BEFORE)
		DepPop(STORE, COMPUTE);
	VTASynchronize(Cmd(), wait_cycles);
	if (last == LastPop::BEHIND)
		DepPop(STORE, COMPUTE);
}

/* Push acc = clip(acc >> kShift, low, 127) for the first @elements. */
static void Requantise(Kernels *kernels, uint32_t elements, int32_t low)
{
	Kernel k = {};

	k.mode = 1;
	k.ops = elements;
	k.opcode = VTA_ALU_OPCODE_SHR;
	k.imm = kShift;
	Alu(&kernels->shift, k);
	k.opcode = VTA_ALU_OPCODE_MAX;
	k.imm = low;
	Alu(&kernels->low, k);
	k.opcode = VTA_ALU_OPCODE_MIN;
	k.imm = 127;
	Alu(&kernels->high, k);
}

static int8_t Expected(int32_t sum, int32_t lo)
{
	return static_cast<int8_t>(std::min(std::max(sum >> kShift, lo), 127));
}

/* ---- Dense ---- */

Dense::Dense(unsigned int seed, uint32_t n, uint32_t m, uint32_t k)
	: n(n), m(m), k(k), inp(n * k * kInpBytes), wgt(m * k * kWgtBytes), out(n * m * kOutBytes)
{
	Fill(&inp, seed);
	Fill(&wgt, seed + 1);
	out.Upload();
}

uint64_t Dense::GemmOps() const
{
	return static_cast<uint64_t>(m) * n * k;
}

/* Push one tile of columns at a time: acc holds its n elements, INP and WGT two steps of k. */
void Dense::Push()
{
	Kernel zero = {};

	zero.reset = 1;
	zero.ops = n;
	for (uint32_t col = 0; col < m; col++) {
		/* Compute waits until acc is stored, load until there is room. */
		if (col)
			DepPop(STORE, COMPUTE);
		Gemm(&kernels.reset, zero, 0);
		DepPush(COMPUTE, LOAD);
		DepPush(COMPUTE, LOAD);
		for (uint32_t step = 0; step < k; step++) {
			uint32_t half = step % 2;
			Kernel mul = {};

			DepPop(COMPUTE, LOAD);
			VTALoadBuffer2D(Cmd(), inp.handle, step, 1, n, k, 0, 0, 0, 0, half * n,
					VTA_MEM_ID_INP);
			VTALoadBuffer2D(Cmd(), wgt.handle, col * k + step, 1, 1, 1, 0, 0, 0, 0,
					half, VTA_MEM_ID_WGT);
			DepPush(LOAD, COMPUTE);
			DepPop(LOAD, COMPUTE);
			mul.ops = n;
			mul.src = half * n;
			mul.wgt = half;
			Gemm(&kernels.product, mul, static_cast<int>(half));
			DepPush(COMPUTE, LOAD);
		}
		DepPop(COMPUTE, LOAD);
		DepPop(COMPUTE, LOAD);
		Requantise(&kernels, n, -128);
		DepPush(COMPUTE, STORE);
		DepPop(COMPUTE, STORE);
		VTAStoreBuffer2D(Cmd(), 0, VTA_MEM_ID_OUT, out.handle, col, 1, n, m);
		DepPush(STORE, COMPUTE);
	}
}

bool Dense::Check()
{
	bool same = true;

	out.Download();
	for (uint32_t i = 0; i < n * VTA_BATCH; i++) {
		for (uint32_t j = 0; j < m * VTA_BLOCK_OUT; j++) {
			int32_t sum = 0;

			for (uint32_t l = 0; l < k * VTA_BLOCK_IN; l++)
				sum += inp.cpu[((i / VTA_BATCH * k + l / VTA_BLOCK_IN) * VTA_BATCH +
						i % VTA_BATCH) * VTA_BLOCK_IN + l % VTA_BLOCK_IN] *
				       wgt.cpu[((j / VTA_BLOCK_OUT * k + l / VTA_BLOCK_IN) *
						VTA_BLOCK_OUT + j % VTA_BLOCK_OUT) * VTA_BLOCK_IN +
					       l % VTA_BLOCK_IN];
			same &= out.cpu[((i / VTA_BATCH * m + j / VTA_BLOCK_OUT) * VTA_BATCH +
					 i % VTA_BATCH) * VTA_BLOCK_OUT + j % VTA_BLOCK_OUT] ==
				Expected(sum, -128);
		}
	}
	std::fill(out.cpu.begin(), out.cpu.end(), 0x55);
	out.Upload();
	return same;
}

/* ---- Conv2d ---- */

Conv2d::Conv2d(unsigned int seed, uint32_t ci, uint32_t co, uint32_t size)
	: ci(ci), co(co), size(size), inp(ci * size * size * kInpBytes),
	  wgt(co * ci * 9 * kWgtBytes), out(co * size * size * kOutBytes)
{
	Fill(&inp, seed);
	Fill(&wgt, seed + 1);
	out.Upload();
}

/* Push a channel tile of out at a time; the loads pad, the loops are those of the window. */
void Conv2d::Push()
{
	uint32_t area = size * size, wide = size + 2;
	Kernel zero = {}, window = {};

	zero.reset = 1;
	zero.ops = area;
	window.outer = 3;
	window.outer_f[1] = wide;
	window.outer_f[2] = 3;
	window.inner = 3;
	window.inner_f[1] = 1;
	window.inner_f[2] = 1;
	window.ops = area;
	window.row = size;
	window.src_row = wide;
	for (uint32_t o = 0; o < co; o++) {
		if (o)
			DepPop(STORE, COMPUTE);
		Gemm(&kernels.reset, zero, 0);
		DepPush(COMPUTE, LOAD);
		for (uint32_t i = 0; i < ci; i++) {
			DepPop(COMPUTE, LOAD);
			VTALoadBuffer2D(Cmd(), inp.handle, i * area, size, size, size, 1, 1, 1, 1,
					0, VTA_MEM_ID_INP);
			VTALoadBuffer2D(Cmd(), wgt.handle, (o * ci + i) * 9, 9, 1, 9, 0, 0, 0, 0,
					0, VTA_MEM_ID_WGT);
			DepPush(LOAD, COMPUTE);
			DepPop(LOAD, COMPUTE);
			Gemm(&kernels.product, window, 0);
			DepPush(COMPUTE, LOAD);
		}
		DepPop(COMPUTE, LOAD);
		Requantise(&kernels, area, 0);
		DepPush(COMPUTE, STORE);
		DepPop(COMPUTE, STORE);
		VTAStoreBuffer2D(Cmd(), 0, VTA_MEM_ID_OUT, out.handle, o * area, area, 1, area);
		DepPush(STORE, COMPUTE);
	}
}

/* Return a value of inp, or 0 outside of it. */
static int32_t Pixel(const Conv2d &c, uint32_t channel, uint32_t b, int y, int x)
{
	int size = static_cast<int>(c.size);

	if (y < 0 || x < 0 || y >= size || x >= size)
		return 0;
	return c.inp.cpu[(((channel / VTA_BLOCK_IN * c.size + static_cast<uint32_t>(y)) * c.size +
			   static_cast<uint32_t>(x)) * VTA_BATCH + b) * VTA_BLOCK_IN +
			 channel % VTA_BLOCK_IN];
}

static int32_t Weight(const Conv2d &c, uint32_t o, uint32_t i, uint32_t tap)
{
	return c.wgt.cpu[(((o / VTA_BLOCK_OUT * c.ci + i / VTA_BLOCK_IN) * 9 + tap) *
			  VTA_BLOCK_OUT + o % VTA_BLOCK_OUT) * VTA_BLOCK_IN + i % VTA_BLOCK_IN];
}

static int8_t ConvAt(const Conv2d &c, uint32_t o, uint32_t b, uint32_t y, uint32_t x)
{
	int32_t sum = 0;

	for (uint32_t i = 0; i < c.ci * VTA_BLOCK_IN; i++)
		for (uint32_t tap = 0; tap < 9; tap++)
			sum += Weight(c, o, i, tap) *
			       Pixel(c, i, b, static_cast<int>(y + tap / 3) - 1,
				     static_cast<int>(x + tap % 3) - 1);
	return Expected(sum, 0);
}

bool Conv2d::Check()
{
	bool same = true;
	size_t at = 0;

	out.Download();
	for (uint32_t tile = 0; tile < co; tile++)
		for (uint32_t p = 0; p < size * size; p++)
			for (uint32_t b = 0; b < VTA_BATCH; b++)
				for (uint32_t o = 0; o < VTA_BLOCK_OUT; o++)
					same &= out.cpu[at++] == ConvAt(*this, tile * VTA_BLOCK_OUT + o,
									b, p / size, p % size);
	std::fill(out.cpu.begin(), out.cpu.end(), 0x55);
	out.Upload();
	return same;
}
