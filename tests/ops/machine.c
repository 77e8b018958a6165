// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

void machine_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

void machine_reset(struct machine *m)
{
	memset(m->mem, 0x55, m->used);
	m->used = 0;
}

uint32_t machine_alloc(struct machine *m, size_t size)
{
	uint32_t element = m->core.wgt_bytes > m->core.acc_bytes ? m->core.wgt_bytes :
								   m->core.acc_bytes;
	uint32_t align = element > sizeof(struct vtaops_insn) ? element :
								sizeof(struct vtaops_insn);
	uint32_t addr = (m->base + m->used + align - 1) / align * align, at = addr - m->base;

	if (!size || at > m->size || size > m->size - at)
		machine_die("no %zu bytes left", size);
	m->used = at + (uint32_t)size;
	return addr;
}

void *machine_at(struct machine *m, uint32_t addr)
{
	return m->mem + (addr - m->base);
}

/* The work of two parts of a stream is that which the core has done. */
static void check_work(const struct machine *m, const void *insns)
{
	const uint32_t cut = (uint32_t)m->insns / 2;
	uint64_t cycles = 0, gemm_uops = 0, least;
	struct vtaops_work work[2] = { 0 };

	if (vtaops_work(&m->core, insns, (uint32_t)m->insns, &cut, cut ? 1 : 0, work))
		machine_die("the work of %zu instructions cannot be counted", m->insns);
	for (unsigned int i = 0; i < 2; i++) {
		cycles += work[i].cycles;
		gemm_uops += work[i].gemm_uops;
	}
	if (cycles != m->stats.cycles || (m->stats.gemm_uops && gemm_uops != m->stats.gemm_uops))
		machine_die("the work is %" PRIu64 " cycles and %" PRIu64 " micro-ops, the core's %"
			    PRIu64 " and %" PRIu64, cycles, gemm_uops, m->stats.cycles,
			    m->stats.gemm_uops);
	vtaops_limit(&work[0], &least);
	if (least > cycles)
		machine_die("the least is %" PRIu64 " of %" PRIu64 " cycles", least, cycles);
}

int machine_run(struct machine *m, lower_fn lower, const void *op, const char **why)
{
	static struct vtaops_builder b;
	uint32_t insn_addr, uop_addr;
	int err;

	vtaops_begin(&b, &m->core, NULL, 0, NULL, 0, 0);
	lower(&b, op);
	err = vtaops_finish(&b);
	*why = b.why;
	if (err)
		return err;
	m->insns = b.insns;
	m->uops = b.uops;
	insn_addr = machine_alloc(m, b.insns * sizeof(struct vtaops_insn));
	uop_addr = machine_alloc(m, b.uops * 4);
	vtaops_begin(&b, &m->core, machine_at(m, insn_addr), m->insns, machine_at(m, uop_addr),
		     m->uops, uop_addr);
	lower(&b, op);
	err = vtaops_finish(&b);
	if (err || b.insns != m->insns || b.uops != m->uops)
		machine_die("lowering again differs: %s", err ? b.why : "other counts");

	m->run(m, insn_addr, (uint32_t)m->insns);
	if (m->stats.cycles != b.cycles)
		machine_die("the builder says %" PRIu64 " cycles, the core %" PRIu64, b.cycles,
			    m->stats.cycles);
	check_work(m, machine_at(m, insn_addr));
	return 0;
}
