/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * vta_counters.h - the card's debug counters (docs/hardware.md, section 12)
 */
#ifndef VTA_COUNTERS_H
#define VTA_COUNTERS_H

/*
 * X(NAME, name) for each counter, by number from 0: the contract's name, and the name in files and
 * structures. First those of contract 2.0, then those that 2.1 adds.
 */
#define VTA_COUNTER_LIST(X)	VTA_COUNTER_LIST_2_0(X) VTA_COUNTER_LIST_2_1(X)

#define VTA_COUNTER_LIST_2_0(X)				\
	X(MMIO_READS, mmio_reads)			\
	X(MMIO_WRITES, mmio_writes)			\
	X(BAD_ACCESSES, bad_accesses)			\
	X(DOORBELLS, doorbells)				\
	X(ARMS, arms)					\
	X(INTERRUPTS, interrupts)			\
	X(DMA_READ_BYTES, dma_read_bytes)		\
	X(DMA_WRITE_BYTES, dma_write_bytes)		\
	X(MEM_READ_BYTES, mem_read_bytes)		\
	X(MEM_WRITE_BYTES, mem_write_bytes)		\
	X(PAGE_WALKS, page_walks)			\
	X(TLB_HITS, tlb_hits)				\
	X(TLB_INVALIDATIONS, tlb_invalidations)		\
	X(DESCRIPTORS, descriptors)			\
	X(RUNS, runs)					\
	X(COPIES, copies)				\
	X(FILLS, fills)					\
	X(COPY_BYTES, copy_bytes)			\
	X(INSNS, insns)					\
	X(COMPUTE_CYCLES, compute_cycles)		\
	X(COPY_CYCLES, copy_cycles)			\
	X(GEMM_UOPS, gemm_uops)				\
	X(ALU_UOPS, alu_uops)				\
	X(CONTEXT_SWITCHES, context_switches)		\
	X(FAULTS, faults)				\
	X(RESETS, resets)				\
	X(STATE_SAVES, state_saves)			\
	X(STATE_RESTORES, state_restores)		\
	X(STATE_CYCLES, state_cycles)

#define VTA_COUNTER_LIST_2_1(X)				\
	X(COMPUTE_CLOCKS, compute_clocks)		\
	X(COPY_CLOCKS, copy_clocks)

enum vta_counter {
#define VTA_COUNTER(NAME, name) VTA_COUNTER_##NAME,
	VTA_COUNTER_LIST(VTA_COUNTER)
#undef VTA_COUNTER
	VTA_COUNTERS,
	VTA_COUNTERS_2_0 = VTA_COUNTER_COMPUTE_CLOCKS	/* number of those of contract 2.0 */
};

#endif /* VTA_COUNTERS_H */
