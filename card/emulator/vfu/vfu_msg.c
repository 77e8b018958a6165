// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commands of vfio-user. A message comes in as bytes and descriptors. The table at the end
 * gives the form of each command, so that a handler only sees payloads of the right size.
 * Payloads are copied into their structure once and not read again.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vfu_priv.h"

/* Region indices up to the last one of a PCI device (VGA), as linux/vfio.h. */
#define NUM_REGIONS	VFIO_PCI_NUM_REGIONS
/* INTx, MSI, MSI-X; the error and request notifiers are not offered. */
#define NUM_IRQS	(VFIO_PCI_MSIX_IRQ_INDEX + 1)

/* One message on its way through a handler. */
struct msg {
	const uint8_t *payload;
	size_t len;
	const int *fds;
	unsigned int nfds;
	bool fds_taken;		/* the handler keeps them */
	uint8_t *reply;		/* room for VFU_MSG_MAX less a header */
	size_t reply_len;
	int reply_fd;
	bool hangup;
};

static void reply_with(struct msg *m, const void *data, size_t len)
{
	memcpy(m->reply + m->reply_len, data, len);
	m->reply_len += len;
}

/* VERSION */

/* A non-negative number, or the default where the client is silent. */
static int cap_number(struct json_object *caps, const char *name, int64_t def,
		      int64_t *val)
{
	struct json_object *obj;

	*val = def;
	if (!json_object_object_get_ex(caps, name, &obj))
		return 0;
	if (!json_object_is_type(obj, json_type_int))
		return -EINVAL;
	*val = json_object_get_int64(obj);
	return *val < 0 ? -EINVAL : 0;
}

static int cap_write_multiple(struct json_object *caps)
{
	struct json_object *obj;

	if (json_object_object_get_ex(caps, "write_multiple", &obj) &&
	    !json_object_is_type(obj, json_type_boolean))
		return -EINVAL;
	return 0;
}

/* The reply's capabilities are a subset of those that the client named. */
static void answer_cap(struct json_object *caps, struct json_object *mine,
		       const char *name, struct json_object *val)
{
	if (json_object_object_get_ex(caps, name, NULL))
		json_object_object_add(mine, name, val);
	else
		json_object_put(val);
}

static int negotiate(struct vfu *srv, struct json_object *caps,
		     struct json_object *mine)
{
	int64_t fds, ignored;

	/*
	 * Limits on what only the client would receive do not matter, as this
	 * server sends no commands; they must be well-formed all the same.
	 */
	if (cap_number(caps, "max_msg_fds", 1, &fds) ||
	    cap_number(caps, "max_data_xfer_size", 0, &ignored) ||
	    cap_number(caps, "max_dma_maps", 0, &ignored) ||
	    cap_number(caps, "pgsizes", 0, &ignored) ||
	    cap_write_multiple(caps))
		return -EINVAL;
	srv->can_pass_fd = fds > 0;

	answer_cap(caps, mine, "max_msg_fds", json_object_new_int(VFU_MAX_FDS));
	answer_cap(caps, mine, "max_data_xfer_size",
		   json_object_new_int(VFU_MAX_XFER));
	answer_cap(caps, mine, "max_dma_maps",
		   json_object_new_int(VFU_DMA_MAX_MAPS));
	answer_cap(caps, mine, "pgsizes", json_object_new_int(VFU_DMA_PAGE));
	answer_cap(caps, mine, "write_multiple", json_object_new_boolean(true));
	return 0;
}

/* One JSON object and nothing after it; NULL otherwise. */
static struct json_object *parse_json(const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *obj;

	if (!tok)
		return NULL;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	obj = json_tokener_parse_ex(tok, text, (int)len);
	if (obj && (json_tokener_get_error(tok) != json_tokener_success ||
		    json_tokener_get_parse_end(tok) != len ||
		    !json_object_is_type(obj, json_type_object))) {
		json_object_put(obj);
		obj = NULL;
	}
	json_tokener_free(tok);
	return obj;
}

static int version_data(struct vfu *srv, struct msg *m, const char *text,
			size_t len)
{
	struct json_object *root, *mine, *caps, *answer;
	const char *out;
	int ret = 0;

	if (text[len - 1] != '\0')
		return -EINVAL;
	root = parse_json(text, len - 1);
	if (!root)
		return -EINVAL;
	answer = json_object_new_object();
	if (json_object_object_get_ex(root, "capabilities", &caps)) {
		mine = json_object_new_object();
		json_object_object_add(answer, "capabilities", mine);
		ret = json_object_is_type(caps, json_type_object) ?
		      negotiate(srv, caps, mine) : -EINVAL;
	}
	if (!ret) {
		out = json_object_to_json_string_ext(answer,
						     JSON_C_TO_STRING_PLAIN);
		reply_with(m, out, strlen(out) + 1);
	}
	json_object_put(answer);
	json_object_put(root);
	return ret;
}

static int do_version(struct vfu *srv, struct msg *m)
{
	struct vfu_version ver;
	size_t left = m->len - sizeof(ver);
	int ret;

	if (srv->negotiated)
		return -EPROTO;	/* once per connection */
	memcpy(&ver, m->payload, sizeof(ver));
	if (ver.major != 0) {
		m->hangup = true;
		return -EPROTONOSUPPORT;
	}
	ver.minor = 0;
	reply_with(m, &ver, sizeof(ver));
	srv->can_pass_fd = true;	/* the specification's default: one */
	if (left) {
		ret = version_data(srv, m,
				   (const char *)m->payload + sizeof(ver),
				   left);
		if (ret)
			return ret;
	}
	srv->negotiated = true;
	if (srv->ops->connected)
		srv->ops->connected(srv->priv);
	return 0;
}

/* Guest memory */

static void tell_dma(struct vfu *srv)
{
	if (srv->ops->dma_changed)
		srv->ops->dma_changed(srv->priv);
}

static int do_dma_map(struct vfu *srv, struct msg *m)
{
	struct vfu_dma_map_msg req;
	uint32_t flags = 0;
	int ret;

	memcpy(&req, m->payload, sizeof(req));
	if (req.argsz != sizeof(req))
		return -EINVAL;
	if (req.flags & ~(VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE))
		return -EINVAL;
	if (req.flags & VFIO_DMA_MAP_FLAG_READ)
		flags |= VFU_DMA_READ;
	if (req.flags & VFIO_DMA_MAP_FLAG_WRITE)
		flags |= VFU_DMA_WRITE;
	ret = vfu_dma_map(srv->dma, req.address, req.size, flags,
			  m->nfds ? m->fds[0] : -1, req.offset);
	if (!ret)
		tell_dma(srv);
	return ret;
}

static int do_dma_unmap(struct vfu *srv, struct msg *m)
{
	struct vfu_dma_unmap_msg req;
	int ret = 0;

	memcpy(&req, m->payload, sizeof(req));
	if (req.argsz < sizeof(req) || (req.flags & ~VFIO_DMA_UNMAP_FLAG_ALL))
		return -EINVAL;
	if (!req.flags)
		ret = vfu_dma_unmap(srv->dma, req.address, req.size);
	else if (req.address || req.size)
		ret = -EINVAL;
	else
		vfu_dma_unmap_all(srv->dma);
	if (ret)
		return ret;
	tell_dma(srv);
	req.argsz = sizeof(req);
	reply_with(m, &req, sizeof(req));
	return 0;
}

/* ---- Properties of the device ---- */

static int do_get_info(struct vfu *srv, struct msg *m)
{
	struct vfu_device_info info;

	(void)srv;
	memcpy(&info, m->payload, sizeof(info));
	if (info.argsz < sizeof(info))
		return -EINVAL;
	info = (struct vfu_device_info) {
		.argsz = sizeof(info),
		.flags = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
		.num_regions = NUM_REGIONS,
		.num_irqs = NUM_IRQS,
	};
	reply_with(m, &info, sizeof(info));
	return 0;
}

/* A partly mappable region lists its parts, if the client has room for it. */
static void reply_sparse(struct msg *m, const struct vfu_backing *bar,
			 struct vfu_region_info *info, uint32_t room)
{
	const struct vfu_sparse_cap cap = {
		.id = VFIO_REGION_INFO_CAP_SPARSE_MMAP,
		.version = 1,
		.nr_areas = bar->nr_areas,
	};
	const size_t areas = bar->nr_areas * sizeof(*bar->areas);

	info->flags |= VFIO_REGION_INFO_FLAG_CAPS;
	info->argsz += (uint32_t)(sizeof(cap) + areas);
	if (room < info->argsz) {
		reply_with(m, info, sizeof(*info));
		return;
	}
	info->cap_offset = sizeof(*info);
	reply_with(m, info, sizeof(*info));
	reply_with(m, &cap, sizeof(cap));
	reply_with(m, bar->areas, areas);
}

static int do_get_region_info(struct vfu *srv, struct msg *m)
{
	const struct vfu_backing *bar = NULL;
	struct vfu_region_info req, info;

	memcpy(&req, m->payload, sizeof(req));
	if (req.argsz < sizeof(req) || req.index >= NUM_REGIONS)
		return -EINVAL;
	info = (struct vfu_region_info) {
		.argsz = sizeof(info),
		.index = req.index,
		.size = vfu_region_size(srv, req.index),
	};
	if (info.size)
		info.flags = VFIO_REGION_INFO_FLAG_READ |
			     VFIO_REGION_INFO_FLAG_WRITE;
	if (req.index < PCI_NUM_BARS)
		bar = &srv->bar[req.index];
	if (bar && bar->ptr && srv->can_pass_fd) {
		info.flags |= VFIO_REGION_INFO_FLAG_MMAP;
		info.offset = bar->fd_offset;
		m->reply_fd = bar->fd;
		if (bar->nr_areas) {
			reply_sparse(m, bar, &info, req.argsz);
			return 0;
		}
	}
	reply_with(m, &info, sizeof(info));
	return 0;
}

/* No region has ioeventfds: an empty list is the truth. */
static int do_get_region_io_fds(struct vfu *srv, struct msg *m)
{
	struct vfu_region_io_fds req;

	memcpy(&req, m->payload, sizeof(req));
	if (req.argsz < sizeof(req) || req.flags || req.count ||
	    !vfu_region_size(srv, req.index))
		return -EINVAL;
	req.argsz = sizeof(req);
	reply_with(m, &req, sizeof(req));
	return 0;
}

/* Interrupts */

static unsigned int irq_count(const struct vfu *srv, uint32_t index)
{
	switch (index) {
	case VFIO_PCI_MSI_IRQ_INDEX:
		return pci_msi_count(srv->pci);
	case VFIO_PCI_MSIX_IRQ_INDEX:
		return pci_msix_count(srv->pci);
	default:
		return 0;
	}
}

static int do_get_irq_info(struct vfu *srv, struct msg *m)
{
	struct vfu_irq_info info;

	memcpy(&info, m->payload, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	if (info.index >= NUM_IRQS)
		return -EOPNOTSUPP;
	info.argsz = sizeof(info);
	info.count = irq_count(srv, info.index);
	info.flags = info.count ? VFIO_IRQ_INFO_EVENTFD : 0;
	reply_with(m, &info, sizeof(info));
	return 0;
}

static int set_eventfds(struct vfu *srv, struct msg *m,
			const struct vfu_irq_set *req)
{
	int ret;

	if (m->nfds && m->nfds != req->count)
		return -EINVAL;
	ret = vfu_irqs_set(srv->irqs, (enum vfu_irq_kind)req->index, req->start,
			   req->count, m->nfds ? m->fds : NULL);
	m->fds_taken = !ret;
	return ret;
}

static int trigger(struct vfu *srv, const struct vfu_irq_set *req,
		   const uint8_t *bools)
{
	uint32_t i;

	for (i = 0; i < req->count; i++)
		if (!bools || bools[i])
			vfu_irqs_trigger(srv->irqs,
					 (enum vfu_irq_kind)req->index,
					 req->start + i);
	return 0;
}

static int do_set_irqs(struct vfu *srv, struct msg *m)
{
	struct vfu_irq_set req;
	uint32_t data, action;
	size_t bools;

	memcpy(&req, m->payload, sizeof(req));
	data = req.flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
	action = req.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
	bools = data == VFIO_IRQ_SET_DATA_BOOL ? req.count : 0;

	if (req.flags != (data | action) || req.index >= NUM_IRQS ||
	    req.argsz != m->len || m->len != sizeof(req) + bools)
		return -EINVAL;
	if ((uint64_t)req.start + req.count > irq_count(srv, req.index))
		return -EINVAL;
	if (m->nfds && data != VFIO_IRQ_SET_DATA_EVENTFD)
		return -EINVAL;
	if (action == VFIO_IRQ_SET_ACTION_MASK ||
	    action == VFIO_IRQ_SET_ACTION_UNMASK)
		return -EOPNOTSUPP;	/* GET_IRQ_INFO reports it as not maskable */
	if (action != VFIO_IRQ_SET_ACTION_TRIGGER)
		return -EINVAL;

	switch (data) {
	case VFIO_IRQ_SET_DATA_NONE:
		if (req.count)
			return trigger(srv, &req, NULL);
		if (req.start)
			return -EINVAL;
		return vfu_irqs_set(srv->irqs, (enum vfu_irq_kind)req.index, 0,
				    irq_count(srv, req.index), NULL);
	case VFIO_IRQ_SET_DATA_BOOL:
		return trigger(srv, &req, m->payload + sizeof(req));
	case VFIO_IRQ_SET_DATA_EVENTFD:
		return set_eventfds(srv, m, &req);
	default:
		return -EINVAL;
	}
}

/* Regions */

static int do_region_read(struct vfu *srv, struct msg *m)
{
	struct vfu_region_rw req;
	int ret;

	memcpy(&req, m->payload, sizeof(req));
	ret = vfu_region_check(srv, req.region, req.offset, req.count);
	if (ret)
		return ret;
	reply_with(m, &req, sizeof(req));
	ret = vfu_region_access(srv, req.region, req.offset,
				m->reply + m->reply_len, req.count, false);
	m->reply_len += req.count;
	return ret;
}

static int do_region_write(struct vfu *srv, struct msg *m)
{
	struct vfu_region_rw req;
	int ret;

	memcpy(&req, m->payload, sizeof(req));
	if (req.count != m->len - sizeof(req))
		return -EINVAL;
	ret = vfu_region_check(srv, req.region, req.offset, req.count);
	if (ret)
		return ret;
	reply_with(m, &req, sizeof(req));
	/* The reply's buffer serves as the copy that a device may scribble on. */
	memcpy(m->reply + m->reply_len, m->payload + sizeof(req), req.count);
	return vfu_region_access(srv, req.region, req.offset,
				 m->reply + m->reply_len, req.count, true);
}

static struct vfu_write_one multi_entry(const struct msg *m, uint64_t i)
{
	struct vfu_write_one w;

	memcpy(&w, m->payload + sizeof(struct vfu_write_multi) + i * sizeof(w),
	       sizeof(w));
	return w;
}

static int do_region_write_multi(struct vfu *srv, struct msg *m)
{
	struct vfu_write_multi req;
	struct vfu_write_one w;
	uint64_t i;
	int ret;

	memcpy(&req, m->payload, sizeof(req));
	if (req.wr_cnt > VFU_MSG_MAX / sizeof(w) ||
	    m->len != sizeof(req) + req.wr_cnt * sizeof(w))
		return -EINVAL;
	for (i = 0; i < req.wr_cnt; i++) {
		w = multi_entry(m, i);
		if (w.count > sizeof(w.data))
			return -EINVAL;
		ret = vfu_region_check(srv, w.region, w.offset, w.count);
		if (ret)
			return ret;
	}
	for (i = 0; i < req.wr_cnt; i++) {
		w = multi_entry(m, i);
		ret = vfu_region_access(srv, w.region, w.offset, w.data,
					w.count, true);
		if (ret)
			return ret;
	}
	reply_with(m, &req, sizeof(req));
	return 0;
}

static int do_device_reset(struct vfu *srv, struct msg *m)
{
	(void)m;
	vfu_device_reset(srv);
	return 0;
}

static int do_unsupported(struct vfu *srv, struct msg *m)
{
	(void)srv;
	(void)m;
	return -EOPNOTSUPP;
}

#define ANY_SIZE	(VFU_MSG_MAX - sizeof(struct vfu_hdr))

static const struct command {
	const char *name;
	int (*fn)(struct vfu *srv, struct msg *m);
	size_t min;		/* payload bytes */
	size_t max;
	unsigned int max_fds;
} commands[VFU_NUM_COMMANDS] = {
	[VFU_VERSION] = {
		"VERSION", do_version, sizeof(struct vfu_version), ANY_SIZE, 0
	},
	[VFU_DMA_MAP] = {
		"DMA_MAP", do_dma_map, sizeof(struct vfu_dma_map_msg),
		sizeof(struct vfu_dma_map_msg), 1
	},
	[VFU_DMA_UNMAP] = {
		"DMA_UNMAP", do_dma_unmap, sizeof(struct vfu_dma_unmap_msg),
		sizeof(struct vfu_dma_unmap_msg), 0
	},
	[VFU_DEVICE_GET_INFO] = {
		"DEVICE_GET_INFO", do_get_info, sizeof(struct vfu_device_info),
		sizeof(struct vfu_device_info), 0
	},
	[VFU_DEVICE_GET_REGION_INFO] = {
		"DEVICE_GET_REGION_INFO", do_get_region_info,
		sizeof(struct vfu_region_info), sizeof(struct vfu_region_info),
		0
	},
	[VFU_DEVICE_GET_REGION_IO_FDS] = {
		"DEVICE_GET_REGION_IO_FDS", do_get_region_io_fds,
		sizeof(struct vfu_region_io_fds),
		sizeof(struct vfu_region_io_fds), 0
	},
	[VFU_DEVICE_GET_IRQ_INFO] = {
		"DEVICE_GET_IRQ_INFO", do_get_irq_info,
		sizeof(struct vfu_irq_info), sizeof(struct vfu_irq_info), 0
	},
	[VFU_DEVICE_SET_IRQS] = {
		"DEVICE_SET_IRQS", do_set_irqs, sizeof(struct vfu_irq_set),
		sizeof(struct vfu_irq_set) + PCI_MSIX_MAX, VFU_MAX_FDS
	},
	[VFU_REGION_READ] = {
		"REGION_READ", do_region_read, sizeof(struct vfu_region_rw),
		sizeof(struct vfu_region_rw), 0
	},
	[VFU_REGION_WRITE] = {
		"REGION_WRITE", do_region_write, sizeof(struct vfu_region_rw),
		ANY_SIZE, 0
	},
	[VFU_DMA_READ_CMD] = { "DMA_READ", do_unsupported, 0, ANY_SIZE, 0 },
	[VFU_DMA_WRITE_CMD] = { "DMA_WRITE", do_unsupported, 0, ANY_SIZE, 0 },
	[VFU_DEVICE_RESET] = { "DEVICE_RESET", do_device_reset, 0, 0, 0 },
	[VFU_REGION_WRITE_MULTI] = {
		"REGION_WRITE_MULTI", do_region_write_multi,
		sizeof(struct vfu_write_multi), ANY_SIZE, 0
	},
	[VFU_DEVICE_FEATURE] = {
		"DEVICE_FEATURE", do_unsupported, 0, ANY_SIZE, 0
	},
	[VFU_MIG_DATA_READ] = {
		"MIG_DATA_READ", do_unsupported, 0, ANY_SIZE, 0
	},
	[VFU_MIG_DATA_WRITE] = {
		"MIG_DATA_WRITE", do_unsupported, 0, ANY_SIZE, 0
	},
};

static const struct command *find_command(uint16_t nr)
{
	if (nr >= VFU_NUM_COMMANDS || !commands[nr].fn)
		return NULL;
	return &commands[nr];
}

static int dispatch(struct vfu *srv, const struct command *cmd, struct msg *m)
{
	if (!cmd)
		return -ENOSYS;
	if (!srv->negotiated && cmd->fn != do_version)
		return -EPROTO;
	if (m->len < cmd->min || m->len > cmd->max || m->nfds > cmd->max_fds)
		return -EINVAL;
	return cmd->fn(srv, m);
}

static void close_fds(const int *fds, unsigned int nfds)
{
	while (nfds--)
		close(fds[nfds]);
}

/* 0 to continue, -EPROTO without a reply, or -EMSGSIZE with one; see vfu.h. */
static int check_frame(const struct vfu_hdr *hdr, size_t len)
{
	if (hdr->size < sizeof(*hdr) ||
	    (hdr->flags & VFU_F_TYPE) != VFU_F_COMMAND)
		return -EPROTO;
	if (hdr->size > VFU_MSG_MAX)
		return -EMSGSIZE;
	return hdr->size == len ? 0 : -EPROTO;
}

static void log_refusal(struct vfu *srv, const struct command *cmd,
			const struct vfu_hdr *hdr, unsigned int nfds, int err)
{
	char line[160];

	snprintf(line, sizeof(line),
		 "refused %s (command %u, %u bytes, %u fds): %s",
		 cmd ? cmd->name : "message", hdr->command, hdr->size, nfds,
		 strerror(err));
	vfu_log(srv, line);
}

int vfu_handle(struct vfu *srv, const void *msg, size_t len, const int *fds,
	       unsigned int nfds, struct vfu_reply *reply)
{
	const struct command *cmd = NULL;
	struct vfu_hdr hdr = { 0 };
	struct msg m;
	int ret;

	*reply = (struct vfu_reply) { .data = srv->reply, .fd = -1 };
	if (len >= sizeof(hdr))
		memcpy(&hdr, msg, sizeof(hdr));
	m = (struct msg) {
		.payload = (const uint8_t *)msg + sizeof(hdr),
		.len = len - sizeof(hdr),
		.fds = fds,
		.nfds = nfds,
		.reply = srv->reply + sizeof(hdr),
		.reply_fd = -1,
	};

	ret = check_frame(&hdr, len);
	if (!ret) {
		cmd = find_command(hdr.command);
		ret = dispatch(srv, cmd, &m);
	} else {
		m.hangup = true;
	}
	if (!m.fds_taken)
		close_fds(fds, nfds);
	/* A request for a feature that is not offered is no error: QEMU makes one at start. */
	if (ret && ret != -EOPNOTSUPP)
		log_refusal(srv, cmd, &hdr, nfds, -ret);
	if (m.hangup && ret == -EPROTO)
		return -EPROTO;

	if (!(hdr.flags & VFU_F_NO_REPLY)) {
		hdr.flags = VFU_F_REPLY | (ret ? VFU_F_ERROR : 0);
		hdr.error = ret ? (uint32_t)-ret : 0;
		hdr.size = (uint32_t)(sizeof(hdr) + (ret ? 0 : m.reply_len));
		memcpy(srv->reply, &hdr, sizeof(hdr));
		reply->len = hdr.size;
		reply->fd = ret ? -1 : m.reply_fd;
	}
	return m.hangup ? -EPROTO : 0;
}
