/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small vfio-user client with guest memory of its own, to drive the emulated
 * card without a VM: every register, doorbell and interrupt from a C test.
 *
 * Functions return 0 or a negative errno: the server's when it answered with
 * an error, -ECONNRESET when it hung up, -ETIMEDOUT when it did not answer in
 * VFC_TIMEOUT_MS. Those that "must" succeed end the process with a message
 * instead, so that a test reads as what it tests. One client is for one
 * thread; several clients may be used by several threads.
 */
#ifndef VTA_TESTS_VFU_CLIENT_H
#define VTA_TESTS_VFU_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/vfu/pci.h"
#include "emulator/vfu/vfu_proto.h"

#define VFC_TIMEOUT_MS	30000
#define VFC_MAX_IRQS	PCI_MSIX_MAX
#define VFC_BAR(n)	((uint32_t)(n))
#define VFC_CONFIG	VFIO_PCI_CONFIG_REGION_INDEX

struct vfc {
	int sock;
	uint16_t next_id;

	/* guest memory: ram_size bytes at bus address ram_iova */
	int ram_fd;
	uint8_t *ram;
	uint64_t ram_iova;
	size_t ram_size;

	/* card memory, after vfc_map_bar4 */
	uint8_t *bar4;
	size_t bar4_size;

	/* eventfds, after vfc_irq_setup */
	uint32_t irq_index;		/* VFIO_PCI_MSI_ or _MSIX_IRQ_INDEX */
	unsigned int nr_irqs;
	int irq[VFC_MAX_IRQS];
};

/* Nothing yet: for one that may be closed without having been connected. */
void vfc_init(struct vfc *c);
/*
 * Connects (waiting up to VFC_TIMEOUT_MS for the socket to appear) and
 * negotiates. vfc_close may be called on any client, also one that failed.
 */
int vfc_connect(struct vfc *c, const char *path);
/* Connects only: for tests of the negotiation. */
int vfc_connect_raw(struct vfc *c, const char *path);
int vfc_negotiate(struct vfc *c, const char *json);	/* NULL: no JSON */
/*
 * Begin most tests: connects, maps size bytes of zeroed guest memory
 * at iova, resets the card, enables memory space and bus mastering, maps BAR4
 * and gives all MSI-X vectors (MSI if there are none) eventfds. Must succeed.
 */
void vfc_open(struct vfc *c, const char *path, uint64_t iova, size_t size);
void vfc_close(struct vfc *c);

/*
 * One command and its reply. fds go with the command; *reply_fd (may be NULL)
 * is a descriptor that came back, or -1. Sends len bytes of payload, accepts a
 * reply payload of at most reply_size bytes and returns its length.
 */
int vfc_call(struct vfc *c, enum vfu_command cmd, const void *payload,
	     size_t len, const int *fds, unsigned int nfds, void *reply,
	     size_t reply_size, int *reply_fd);
/* Bytes as they are, and one reply: for malformed messages. */
int vfc_send_raw(struct vfc *c, const void *buf, size_t len, const int *fds,
		 unsigned int nfds);
int vfc_recv_raw(struct vfc *c, struct vfu_hdr *hdr, void *payload, size_t size,
		 int *fd);
/* True when the server has closed the connection. */
bool vfc_hung_up(struct vfc *c);

/* Regions. The must-variants are little-endian registers. */
int vfc_read(struct vfc *c, uint32_t region, uint64_t off, void *buf,
	     size_t len);
int vfc_write(struct vfc *c, uint32_t region, uint64_t off, const void *buf,
	      size_t len);
uint32_t vfc_bar_read32(struct vfc *c, unsigned int bar, uint64_t off);
uint64_t vfc_bar_read64(struct vfc *c, unsigned int bar, uint64_t off);
void vfc_bar_write32(struct vfc *c, unsigned int bar, uint64_t off,
		     uint32_t val);
void vfc_bar_write64(struct vfc *c, unsigned int bar, uint64_t off,
		     uint64_t val);
uint8_t vfc_cfg_read8(struct vfc *c, uint16_t off);
uint16_t vfc_cfg_read16(struct vfc *c, uint16_t off);
uint32_t vfc_cfg_read32(struct vfc *c, uint16_t off);
void vfc_cfg_write8(struct vfc *c, uint16_t off, uint8_t val);
void vfc_cfg_write16(struct vfc *c, uint16_t off, uint16_t val);
void vfc_cfg_write32(struct vfc *c, uint16_t off, uint32_t val);
/* The position of a capability, 0 if absent; walks the chain. */
uint16_t vfc_find_cap(struct vfc *c, uint8_t id);
uint16_t vfc_find_ext_cap(struct vfc *c, uint16_t id);
/* Sets and clears bits of the command register. */
void vfc_command(struct vfc *c, uint16_t set, uint16_t clear);

/* The card. */
int vfc_reset(struct vfc *c);		/* DEVICE_RESET */
void vfc_flr(struct vfc *c);		/* through the PCIe capability */
int vfc_region_info(struct vfc *c, uint32_t region,
		    struct vfu_region_info *info, int *fd);
int vfc_irq_info(struct vfc *c, uint32_t index, struct vfu_irq_info *info);
int vfc_map_bar4(struct vfc *c);

/* Guest memory. flags: VFIO_DMA_MAP_FLAG_; fd -1: not shared. */
int vfc_dma_map(struct vfc *c, uint64_t iova, uint64_t size, uint32_t flags,
		int fd, uint64_t offset);
int vfc_dma_unmap(struct vfc *c, uint64_t iova, uint64_t size, uint32_t flags);
/* Allocates c->ram and maps it at iova, readable and writable. */
int vfc_ram(struct vfc *c, uint64_t iova, size_t size);
/* c->ram at a bus address; the range must lie within. */
void *vfc_ptr(struct vfc *c, uint64_t iova, size_t len);

/*
 * Interrupts: enables MSI-X (or MSI) in config space and gives n vectors
 * eventfds.
 */
int vfc_irq_setup(struct vfc *c, uint32_t index, unsigned int n);
int vfc_set_irqs(struct vfc *c, uint32_t flags, uint32_t index, uint32_t start,
		 uint32_t count, const int *fds, unsigned int nfds);
void vfc_irq_teardown(struct vfc *c);
/*
 * Waits for a vector: the number of interrupts since the last call, at least
 * one, or 0 after timeout_ms without any.
 */
uint64_t vfc_irq_wait(struct vfc *c, unsigned int vector, int timeout_ms);

#endif
