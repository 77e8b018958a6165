/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch.h - ordering between the CPU, memory that the card sees, and the card
 *
 * C11 fences order normal memory only. The card's memory is mapped
 * write-combined and the doorbell is a device register, so these need the
 * stronger instructions that kernels call wmb() and rmb(); docs/hardware.md,
 * section 10, items 1 and 3.
 */
#ifndef VTADEV_ARCH_H
#define VTADEV_ARCH_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__SSE2__)
#define INSN_WMB	"sfence"
#define INSN_RMB	"lfence"
#define INSN_RELAX	"pause"
#define HAVE_RDTSC
#elif defined(__i386__)	/* may be built for processors that lack these: a locked write is both */
#define INSN_WMB	"lock; addl $0, 0(%%esp)"
#define INSN_RMB	"lock; addl $0, 0(%%esp)"
#define INSN_RELAX	"rep; nop"
#define HAVE_RDTSC
#elif defined(__aarch64__)
#define INSN_WMB	"dsb st"
#define INSN_RMB	"dsb ld"
#define INSN_RELAX	"yield"
#elif defined(__riscv)
#define INSN_WMB	"fence ow, ow"
#define INSN_RMB	"fence ir, ir"
#define INSN_RELAX	""
#elif defined(__powerpc__)
#define INSN_WMB	"sync"
#define INSN_RMB	"sync"
#define INSN_RELAX	""
#else
#error "libvtadev: add the barriers of this architecture to arch.h"
#endif

/* Everything written so far, card memory too, arrives before what follows. */
static inline void arch_wmb(void)
{
	__asm__ __volatile__(INSN_WMB : : : "memory", "cc");
}

/* Nothing that follows is read before what was read so far. */
static inline void arch_rmb(void)
{
	__asm__ __volatile__(INSN_RMB : : : "memory", "cc");
}

/* In a loop that waits for memory to change. */
static inline void arch_relax(void)
{
	__asm__ __volatile__(INSN_RELAX : : : "memory");
}

/*
 * A counter that runs at a constant rate, read without a system call on every
 * host: where the kernel does not trust it as a clock, clock_gettime() is one.
 */
static inline uint64_t arch_ticks(void)
{
#ifdef HAVE_RDTSC
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

#if defined(__aarch64__)
	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
#elif defined(__riscv)
	__asm__ __volatile__("rdtime %0" : "=r"(ticks));
#elif defined(__powerpc__)
	__asm__ __volatile__("mfspr %0, 268" : "=r"(ticks));
#endif
	return ticks;
#endif
}

#endif /* VTADEV_ARCH_H */
