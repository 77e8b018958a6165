/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * vta_faults.h - words for the faults of queues (docs/hardware.md, section 8) and for lost cards
 *
 * The numbers are those of the enumerations in uapi/vta.h. X(NAME, word, text): the enumerator is
 * VTA_FAULT_NAME, VTA_ACCESS_NAME, VTA_FATE_NAME or VTA_CAUSE_NAME; @word is for programs and never
 * changes, @text is for people.
 */
#ifndef VTA_FAULTS_H
#define VTA_FAULTS_H

/* Faults that the card records, by number from 0. */
#define VTA_CARD_FAULTS(X)						\
	X(NONE, "none", "no fault")					\
	X(PAGE, "page", "address not mapped")				\
	X(PERM, "perm", "write to read-only memory")			\
	X(ENTRY, "entry", "malformed page-table entry")			\
	X(DMA, "dma", "the host refused the access")			\
	X(DESC, "desc", "malformed descriptor")				\
	X(ALIGN, "align", "misaligned address")				\
	X(INSN, "insn", "illegal instruction")				\
	X(BOUNDS, "bounds", "index outside a scratchpad")		\
	X(CYCLES, "cycles", "cycle limit reached")			\
	X(DEADLOCK, "deadlock", "dependency deadlock")			\
	X(DOORBELL, "doorbell", "more submitted than the ring holds")	\
	X(TIME, "time", "time limit reached")

/* Faults that the driver records: of a card that breaks the contract, and before suspend. */
#define VTA_DRIVER_FAULTS(X)						\
	X(CARD, "card", "the card's records make no sense")		\
	X(HANG, "hang", "the card hangs")				\
	X(SLEEP, "sleep", "aborted for the machine to sleep")

/* Purposes of the access that faulted, by number from 0. */
#define VTA_ACCESSES(X)							\
	X(NONE, "none", "no access")					\
	X(RING, "ring", "descriptor fetch")				\
	X(INSN, "insn", "instruction fetch")				\
	X(UOP, "uop", "micro-op load")					\
	X(LOAD, "load", "load")						\
	X(STORE, "store", "store")					\
	X(COPY_SRC, "copy_src", "copy source")				\
	X(COPY_DST, "copy_dst", "copy or fill destination")		\
	X(SIGNAL, "signal", "signal")					\
	X(WAIT, "wait", "wait")						\
	X(STAMP, "stamp", "stamp")					\
	X(STATE, "state", "save or restore of the core's state")

/* State of the card that an open file has lost, and the next step, by number from 0. */
#define VTA_FATES(X)							\
	X(NONE, "no", "it works")					\
	X(PENDING, "pending", "it may come back: close it, and try again later to open it") \
	X(RESET, "reset", "it was reset: close it and open it again")	\
	X(GIVEN_UP, "given-up",						\
	  "it was given up: close it; vtactl reset, or power off and on, may help") \
	X(REMOVED, "removed", "it was removed: close it, and open it when it is back")

/* Reason of the loss, by number from 0. */
#define VTA_CAUSES(X)							\
	X(NONE, "", "the card was not lost")				\
	X(CARD, "card", "the card failed (the kernel log says how)")	\
	X(ADMIN, "admin", "an administrator asked for a reset of the card") \
	X(FUNCTION, "function", "the card's PCI function was reset, but not by its driver") \
	X(BUS, "bus", "an error occurred on the card's bus")		\
	X(SLEEP, "sleep", "the card failed when the machine went to sleep") \
	X(WAKE, "wake", "the card did not wake up")			\
	X(UNBOUND, "unbound", "the driver was unbound from the card")	\
	X(UNPLUGGED, "unplugged", "the card was pulled out, or lost power") \
	X(SHUTDOWN, "shutdown", "the machine is shutting down")

#endif /* VTA_FAULTS_H */
