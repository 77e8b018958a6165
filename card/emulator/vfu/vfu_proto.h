/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The messages of vfio-user 0.0 as they are on the socket, in the host's
 * byte order; names and numbers are those of the specification. Flags of the
 * payloads (regions, interrupts, DMA) are those of linux/vfio.h.
 */
#ifndef VTA_EMU_VFU_PROTO_H
#define VTA_EMU_VFU_PROTO_H

#include <assert.h>
#include <linux/vfio.h>
#include <stdint.h>

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_DEVICE_GET_INFO = 4,
	VFU_DEVICE_GET_REGION_INFO = 5,
	VFU_DEVICE_GET_REGION_IO_FDS = 6,
	VFU_DEVICE_GET_IRQ_INFO = 7,
	VFU_DEVICE_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_DMA_READ_CMD = 11,		/* server to client: not used here */
	VFU_DMA_WRITE_CMD = 12,		/* likewise */
	VFU_DEVICE_RESET = 13,
	VFU_REGION_WRITE_MULTI = 15,
	VFU_DEVICE_FEATURE = 16,
	VFU_MIG_DATA_READ = 17,
	VFU_MIG_DATA_WRITE = 18,
	VFU_NUM_COMMANDS
};

#define VFU_F_TYPE	0xfu
#define VFU_F_COMMAND	0x0u
#define VFU_F_REPLY	0x1u
#define VFU_F_NO_REPLY	0x10u
#define VFU_F_ERROR	0x20u

struct vfu_hdr {
	uint16_t id;
	uint16_t command;
	uint32_t size;		/* of the message, this header included */
	uint32_t flags;
	uint32_t error;		/* errno, in a reply with VFU_F_ERROR */
};

struct vfu_version {
	uint16_t major;
	uint16_t minor;
	/* JSON text and its NUL follow; optional. */
};

struct vfu_dma_map_msg {
	uint32_t argsz;
	uint32_t flags;		/* VFIO_DMA_MAP_FLAG_ */
	uint64_t offset;	/* in the file */
	uint64_t address;
	uint64_t size;
};

struct vfu_dma_unmap_msg {
	uint32_t argsz;
	uint32_t flags;		/* VFIO_DMA_UNMAP_FLAG_ */
	uint64_t address;
	uint64_t size;
};

struct vfu_device_info {
	uint32_t argsz;
	uint32_t flags;		/* VFIO_DEVICE_FLAGS_ */
	uint32_t num_regions;
	uint32_t num_irqs;
};

struct vfu_region_info {
	uint32_t argsz;
	uint32_t flags;		/* VFIO_REGION_INFO_FLAG_ */
	uint32_t index;
	uint32_t cap_offset;
	uint64_t size;
	uint64_t offset;
};

/* The one region capability used, followed by nr_areas times vfu_area. */
struct vfu_sparse_cap {
	uint16_t id;		/* VFIO_REGION_INFO_CAP_SPARSE_MMAP */
	uint16_t version;
	uint32_t next;
	uint32_t nr_areas;
	uint32_t reserved;
};

struct vfu_region_io_fds {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t count;
};

struct vfu_irq_info {
	uint32_t argsz;
	uint32_t flags;		/* VFIO_IRQ_INFO_ */
	uint32_t index;
	uint32_t count;
};

struct vfu_irq_set {
	uint32_t argsz;
	uint32_t flags;		/* VFIO_IRQ_SET_ */
	uint32_t index;
	uint32_t start;
	uint32_t count;
	/* count bytes follow with VFIO_IRQ_SET_DATA_BOOL */
};

struct vfu_region_rw {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	/* data */
};

struct vfu_write_multi {
	uint64_t wr_cnt;
	/* wr_cnt times vfu_write_one */
};

struct vfu_write_one {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	uint8_t data[8];
};

static_assert(sizeof(struct vfu_hdr) == 16, "header");
static_assert(sizeof(struct vfu_version) == 4, "VERSION");
static_assert(sizeof(struct vfu_dma_map_msg) == 32, "DMA_MAP");
static_assert(sizeof(struct vfu_dma_unmap_msg) == 24, "DMA_UNMAP");
static_assert(sizeof(struct vfu_device_info) == 16, "GET_INFO");
static_assert(sizeof(struct vfu_region_info) == 32, "GET_REGION_INFO");
static_assert(sizeof(struct vfu_sparse_cap) == 16, "sparse mmap");
static_assert(sizeof(struct vfu_region_io_fds) == 16, "GET_REGION_IO_FDS");
static_assert(sizeof(struct vfu_irq_info) == 16, "GET_IRQ_INFO");
static_assert(sizeof(struct vfu_irq_set) == 20, "SET_IRQS");
static_assert(sizeof(struct vfu_region_rw) == 16, "REGION_READ, _WRITE");
static_assert(sizeof(struct vfu_write_multi) == 8, "REGION_WRITE_MULTI");
static_assert(sizeof(struct vfu_write_one) == 24, "REGION_WRITE_MULTI entry");

#endif
