// SPDX-License-Identifier: GPL-2.0-only
#include "counters.h"

static const char *const names[VTA_COUNTERS] = {
	[VTA_COUNTER_MMIO_READS]	= "mmio_reads",
	[VTA_COUNTER_MMIO_WRITES]	= "mmio_writes",
	[VTA_COUNTER_BAD_ACCESSES]	= "bad_accesses",
	[VTA_COUNTER_DOORBELLS]		= "doorbells",
	[VTA_COUNTER_ARMS]		= "arms",
	[VTA_COUNTER_INTERRUPTS]	= "interrupts",
	[VTA_COUNTER_DMA_READ_BYTES]	= "dma_read_bytes",
	[VTA_COUNTER_DMA_WRITE_BYTES]	= "dma_write_bytes",
	[VTA_COUNTER_MEM_READ_BYTES]	= "mem_read_bytes",
	[VTA_COUNTER_MEM_WRITE_BYTES]	= "mem_write_bytes",
	[VTA_COUNTER_PAGE_WALKS]	= "page_walks",
	[VTA_COUNTER_TLB_HITS]		= "tlb_hits",
	[VTA_COUNTER_TLB_INVALIDATIONS]	= "tlb_invalidations",
	[VTA_COUNTER_DESCRIPTORS]	= "descriptors",
	[VTA_COUNTER_RUNS]		= "runs",
	[VTA_COUNTER_COPIES]		= "copies",
	[VTA_COUNTER_FILLS]		= "fills",
	[VTA_COUNTER_COPY_BYTES]	= "copy_bytes",
	[VTA_COUNTER_INSNS]		= "insns",
	[VTA_COUNTER_COMPUTE_CYCLES]	= "compute_cycles",
	[VTA_COUNTER_COPY_CYCLES]	= "copy_cycles",
	[VTA_COUNTER_GEMM_UOPS]		= "gemm_uops",
	[VTA_COUNTER_ALU_UOPS]		= "alu_uops",
	[VTA_COUNTER_CONTEXT_SWITCHES]	= "context_switches",
	[VTA_COUNTER_FAULTS]		= "faults",
	[VTA_COUNTER_RESETS]		= "resets",
	[VTA_COUNTER_STATE_SAVES]	= "state_saves",
	[VTA_COUNTER_STATE_RESTORES]	= "state_restores",
	[VTA_COUNTER_STATE_CYCLES]	= "state_cycles",
};

void counters_clear(struct counters *c)
{
	for (unsigned int i = 0; i < VTA_COUNTERS; i++)
		atomic_store_explicit(&c->n[i], 0, memory_order_relaxed);
}

const char *counter_name(enum vta_counter i)
{
	return names[i];
}
