/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vta_device_api.h - TVM's DeviceAPI verbs over libvtadev, in C
 *
 * A template: a TVM device is a C++ class that overrides these verbs of DeviceAPI
 * and throws where these return an error. The names are TVM's, in C's spelling.
 *
 * A data space is memory of the card; its pointer is a handle, as with OpenCL:
 * the CPU cannot follow it, and offsets are given beside it. Generated code puts
 * vta_api_address() into instruction streams.
 *
 * A stream is a queue of the card. Each thread has a current stream for each
 * device, the device's default stream at first; NULL: that one.
 *
 * Functions return 0 or a negative errno of vtadev.h, and then vta_api_error()
 * has a sentence. They may be called by several threads at once; but one thread at
 * a time synchronises with a stream, and nothing is freed while another uses it.
 */
#ifndef VTA_DEVICE_API_H
#define VTA_DEVICE_API_H

#include <dlpack/dlpack.h>

/* The type of device until there is one for VTA in DLPack. */
#define VTA_API_DEVICE	kDLExtDev

typedef void *vta_api_stream;

/* The message of the last failure in this thread. */
const char *vta_api_error(void);

/* The values are those of TVM's DeviceAttrKind. */
enum vta_api_attr {
	VTA_API_EXIST			= 0,	/* never an error */
	VTA_API_COMPUTE_VERSION		= 4,	/* text: of the VTA core */
	VTA_API_DEVICE_NAME		= 5,	/* text */
	VTA_API_MAX_CLOCK_RATE		= 6,	/* kHz */
	VTA_API_MULTI_PROCESSOR_COUNT	= 7,
	VTA_API_TOTAL_GLOBAL_MEMORY	= 14,	/* bytes */
	VTA_API_AVAILABLE_GLOBAL_MEMORY	= 15,	/* bytes */
};

struct vta_api_value {
	int64_t number;
	char text[64];
};

/* SetDevice: opens card number device_id, if that has not been done. */
int vta_api_set_device(DLDevice dev);
/* GetAttr: -EOPNOTSUPP for others than those above. */
int vta_api_get_attr(DLDevice dev, enum vta_api_attr attr, struct vta_api_value *value);

/* AllocDataSpace: @alignment of the device address, a power of two, or 0. */
int vta_api_alloc_data_space(DLDevice dev, size_t nbytes, size_t alignment,
			     DLDataType type_hint, void **space);
/* FreeDataSpace: waits for all work of the device's streams first. */
int vta_api_free_data_space(DLDevice dev, void *space);

/*
 * CopyDataFromTo: one side or both on the device, or both on the CPU. With the
 * CPU it waits until it is done; from space to space it is submitted to the
 * stream. From one device to another: -EOPNOTSUPP.
 */
int vta_api_copy_data_from_to(const void *from, size_t from_offset, void *to, size_t to_offset,
			      size_t nbytes, DLDevice dev_from, DLDevice dev_to,
			      DLDataType type_hint, vta_api_stream stream);

/* CreateStream, FreeStream (after its work), SetStream (of this thread). */
int vta_api_create_stream(DLDevice dev, vta_api_stream *stream);
int vta_api_free_stream(DLDevice dev, vta_api_stream stream);
int vta_api_set_stream(DLDevice dev, vta_api_stream stream);
/*
 * StreamSync: -EIO if its work failed, which is reported once; later work runs.
 */
int vta_api_stream_sync(DLDevice dev, vta_api_stream stream);
/* SyncStreamFromTo: @to continues when @from has completed its work so far. */
int vta_api_sync_stream_from_to(DLDevice dev, vta_api_stream from, vta_api_stream to);

/* AllocWorkspace, FreeWorkspace: space for intermediate results, kept for reuse. */
int vta_api_alloc_workspace(DLDevice dev, size_t nbytes, DLDataType type_hint, void **space);
int vta_api_free_workspace(DLDevice dev, void *space);

/* For kernels: the device address of a space. */
uint32_t vta_api_address(const void *space);
/* For kernels: run the @insn_count instructions at @offset of @space. */
int vta_api_run(DLDevice dev, const void *space, size_t offset, uint32_t insn_count,
		vta_api_stream stream);

/* The card, open, for calls of libvtadev; NULL if opening fails. */
struct vtadev;
struct vtadev *vta_api_card(DLDevice dev);
/* Closes the device: spaces and streams, too. */
void vta_api_release(DLDevice dev);

#endif /* VTA_DEVICE_API_H */
