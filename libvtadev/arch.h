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

#if defined(__x86_64__) || defined(__i386__)
#define ARCH_WMB	"sfence"
#define ARCH_RMB	"lfence"
#define ARCH_RELAX	"pause"
#elif defined(__aarch64__)
#define ARCH_WMB	"dsb st"
#define ARCH_RMB	"dsb ld"
#define ARCH_RELAX	"yield"
#elif defined(__riscv)
#define ARCH_WMB	"fence ow, ow"
#define ARCH_RMB	"fence ir, ir"
#define ARCH_RELAX	""
#elif defined(__powerpc__)
#define ARCH_WMB	"sync"
#define ARCH_RMB	"sync"
#define ARCH_RELAX	""
#else
#error "libvtadev: add the barriers of this architecture to arch.h"
#endif

/* Everything written so far, card memory too, arrives before what follows. */
static inline void arch_wmb(void)
{
	__asm__ __volatile__(ARCH_WMB : : : "memory");
}

/* Nothing that follows is read before what was read so far. */
static inline void arch_rmb(void)
{
	__asm__ __volatile__(ARCH_RMB : : : "memory");
}

/* In a loop that waits for memory to change. */
static inline void arch_relax(void)
{
	__asm__ __volatile__(ARCH_RELAX : : : "memory");
}

#endif /* VTADEV_ARCH_H */
