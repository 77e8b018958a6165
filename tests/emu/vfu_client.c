// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE 1	/* memfd_create */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vfu_client.h"

#define MAX_FDS		253		/* what the kernel sends at most */
#define FDS_PER_SET	16		/* and what the server takes */

static const char default_json[] =
	"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":1048576,"
	"\"max_dma_maps\":65535,\"pgsizes\":4096,\"write_multiple\":true}}";

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "vfio-user client: %s: %s\n", what, strerror(-ret));
	abort();
}

/* Bytes and descriptors */

int vfc_send_raw(struct vfc *c, const void *buf, size_t len, const int *fds,
		 unsigned int nfds)
{
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int) * MAX_FDS)];
	} ctl;
	const uint8_t *src = buf;
	size_t sent = 0;

	if (nfds > MAX_FDS)
		return -EINVAL;
	while (sent < len) {
		struct iovec iov = {
			.iov_base = (void *)(src + sent),
			.iov_len = len - sent,
		};
		struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;

		if (nfds && !sent) {
			memset(&ctl, 0, sizeof(ctl));
			ctl.hdr.cmsg_level = SOL_SOCKET;
			ctl.hdr.cmsg_type = SCM_RIGHTS;
			ctl.hdr.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
			memcpy(CMSG_DATA(&ctl.hdr), fds, sizeof(int) * nfds);
			mh.msg_control = &ctl;
			mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		}
		n = sendmsg(c->sock, &mh, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EPIPE ? -ECONNRESET : -errno;
		sent += (size_t)n;
	}
	return 0;
}

static int wait_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Receives exactly len bytes; *fd is set when one comes along. */
static int recv_all(struct vfc *c, void *buf, size_t len, int *fd)
{
	uint8_t *dst = buf;

	while (len) {
		union {
			struct cmsghdr hdr;
			char space[CMSG_SPACE(sizeof(int))];
		} ctl;
		struct iovec iov = { .iov_base = dst, .iov_len = len };
		struct msghdr mh = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &ctl,
			.msg_controllen = sizeof(ctl.space),
		};
		struct cmsghdr *cm;
		ssize_t n;

		if (wait_readable(c->sock, VFC_TIMEOUT_MS) <= 0)
			return -ETIMEDOUT;
		n = recvmsg(c->sock, &mh, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ECONNRESET;
		cm = CMSG_FIRSTHDR(&mh);
		if (cm && cm->cmsg_level == SOL_SOCKET &&
		    cm->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(cm), sizeof(*fd));
		dst += n;
		len -= (size_t)n;
	}
	return 0;
}

int vfc_recv_raw(struct vfc *c, struct vfu_hdr *hdr, void *payload, size_t size,
		 int *fd)
{
	size_t len = 0;
	int got = -1;
	int ret;

	ret = recv_all(c, hdr, sizeof(*hdr), &got);
	if (!ret) {
		len = hdr->size - sizeof(*hdr);
		if (hdr->size < sizeof(*hdr) || len > size)
			ret = -EMSGSIZE;
		else
			ret = recv_all(c, payload, len, &got);
	}
	if (!ret && fd)
		*fd = got;
	else if (got >= 0)
		close(got);
	return ret ? ret : (int)len;
}

bool vfc_hung_up(struct vfc *c)
{
	char byte;

	return wait_readable(c->sock, VFC_TIMEOUT_MS) > 0 &&
	       recv(c->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

int vfc_call(struct vfc *c, enum vfu_command cmd, const void *payload,
	     size_t len, const int *fds, unsigned int nfds, void *reply,
	     size_t reply_size, int *reply_fd)
{
	struct vfu_hdr hdr = {
		.id = c->next_id++,
		.command = (uint16_t)cmd,
		.size = (uint32_t)(sizeof(hdr) + len),
		.flags = VFU_F_COMMAND,
	};
	struct vfu_hdr ans;
	uint8_t *msg;
	int ret;

	if (reply_fd)
		*reply_fd = -1;
	msg = malloc(hdr.size);
	if (!msg)
		return -ENOMEM;
	memcpy(msg, &hdr, sizeof(hdr));
	if (len)
		memcpy(msg + sizeof(hdr), payload, len);
	ret = vfc_send_raw(c, msg, hdr.size, fds, nfds);
	free(msg);
	if (ret)
		return ret;
	ret = vfc_recv_raw(c, &ans, reply, reply_size, reply_fd);
	if (ret < 0)
		return ret;
	if (ans.id != hdr.id || ans.command != hdr.command ||
	    (ans.flags & VFU_F_TYPE) != VFU_F_REPLY)
		return -EBADMSG;
	if (ans.flags & VFU_F_ERROR)
		return ans.error ? -(int)ans.error : -EIO;
	return ret;
}

/* The connection */

void vfc_init(struct vfc *c)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->sock = -1;
	c->ram_fd = -1;
	for (i = 0; i < VFC_MAX_IRQS; i++)
		c->irq[i] = -1;
}

int vfc_connect_raw(struct vfc *c, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int tries;

	vfc_init(c);
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	c->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->sock < 0)
		return -errno;
	for (tries = VFC_TIMEOUT_MS / 10; tries; tries--) {
		if (!connect(c->sock, (struct sockaddr *)&addr, sizeof(addr)))
			return 0;
		if (errno != ENOENT && errno != ECONNREFUSED)
			break;
		usleep(10 * 1000);
	}
	return -errno;
}

int vfc_negotiate(struct vfc *c, const char *json)
{
	const struct vfu_version ver = { 0 };
	uint8_t buf[4096], reply[4096];
	size_t len = sizeof(ver);
	int ret;

	memcpy(buf, &ver, sizeof(ver));
	if (json) {
		if (strlen(json) + 1 > sizeof(buf) - len)
			return -EMSGSIZE;
		strcpy((char *)buf + len, json);
		len += strlen(json) + 1;
	}
	ret = vfc_call(c, VFU_VERSION, buf, len, NULL, 0, reply, sizeof(reply),
		       NULL);
	return ret < 0 ? ret : 0;
}

int vfc_connect(struct vfc *c, const char *path)
{
	int ret = vfc_connect_raw(c, path);

	return ret ? ret : vfc_negotiate(c, default_json);
}

void vfc_open(struct vfc *c, const char *path, uint64_t iova, size_t size)
{
	struct vfu_irq_info info;

	must(vfc_connect(c, path), "connect");
	must(vfc_ram(c, iova, size), "guest memory");
	must(vfc_reset(c), "reset");
	vfc_command(c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	must(vfc_map_bar4(c), "BAR4");
	must(vfc_irq_info(c, VFIO_PCI_MSIX_IRQ_INDEX, &info), "irq info");
	if (!info.count)
		must(vfc_irq_info(c, VFIO_PCI_MSI_IRQ_INDEX, &info),
		     "irq info");
	if (info.count)
		must(vfc_irq_setup(c, info.index, info.count), "interrupts");
}

void vfc_close(struct vfc *c)
{
	unsigned int i;

	if (c->sock >= 0)
		close(c->sock);
	for (i = 0; i < VFC_MAX_IRQS; i++)
		if (c->irq[i] >= 0)
			close(c->irq[i]);
	if (c->ram)
		munmap(c->ram, c->ram_size);
	if (c->ram_fd >= 0)
		close(c->ram_fd);
	if (c->bar4)
		munmap(c->bar4, c->bar4_size);
	vfc_init(c);
}

/* Regions */

int vfc_read(struct vfc *c, uint32_t region, uint64_t off, void *buf,
	     size_t len)
{
	const struct vfu_region_rw req = {
		.offset = off,
		.region = region,
		.count = (uint32_t)len,
	};
	uint8_t *reply = malloc(sizeof(req) + len);
	int ret;

	if (!reply)
		return -ENOMEM;
	ret = vfc_call(c, VFU_REGION_READ, &req, sizeof(req), NULL, 0, reply,
		       sizeof(req) + len, NULL);
	if (ret >= 0)
		ret = ret == (int)(sizeof(req) + len) ? 0 : -EBADMSG;
	if (!ret)
		memcpy(buf, reply + sizeof(req), len);
	free(reply);
	return ret;
}

int vfc_write(struct vfc *c, uint32_t region, uint64_t off, const void *buf,
	      size_t len)
{
	const struct vfu_region_rw req = {
		.offset = off,
		.region = region,
		.count = (uint32_t)len,
	};
	struct vfu_region_rw reply;
	uint8_t *msg = malloc(sizeof(req) + len);
	int ret;

	if (!msg)
		return -ENOMEM;
	memcpy(msg, &req, sizeof(req));
	memcpy(msg + sizeof(req), buf, len);
	ret = vfc_call(c, VFU_REGION_WRITE, msg, sizeof(req) + len, NULL, 0,
		       &reply, sizeof(reply), NULL);
	free(msg);
	return ret < 0 ? ret : 0;
}

static uint64_t read_le(struct vfc *c, uint32_t region, uint64_t off,
			size_t len)
{
	uint64_t val = 0;

	must(vfc_read(c, region, off, &val, len), "region read");
	return le64toh(val);
}

static void write_le(struct vfc *c, uint32_t region, uint64_t off, uint64_t val,
		     size_t len)
{
	val = htole64(val);
	must(vfc_write(c, region, off, &val, len), "region write");
}

uint32_t vfc_bar_read32(struct vfc *c, unsigned int bar, uint64_t off)
{
	return (uint32_t)read_le(c, VFC_BAR(bar), off, 4);
}

uint64_t vfc_bar_read64(struct vfc *c, unsigned int bar, uint64_t off)
{
	return read_le(c, VFC_BAR(bar), off, 8);
}

void vfc_bar_write32(struct vfc *c, unsigned int bar, uint64_t off,
		     uint32_t val)
{
	write_le(c, VFC_BAR(bar), off, val, 4);
}

void vfc_bar_write64(struct vfc *c, unsigned int bar, uint64_t off,
		     uint64_t val)
{
	write_le(c, VFC_BAR(bar), off, val, 8);
}

uint8_t vfc_cfg_read8(struct vfc *c, uint16_t off)
{
	return (uint8_t)read_le(c, VFC_CONFIG, off, 1);
}

uint16_t vfc_cfg_read16(struct vfc *c, uint16_t off)
{
	return (uint16_t)read_le(c, VFC_CONFIG, off, 2);
}

uint32_t vfc_cfg_read32(struct vfc *c, uint16_t off)
{
	return (uint32_t)read_le(c, VFC_CONFIG, off, 4);
}

void vfc_cfg_write8(struct vfc *c, uint16_t off, uint8_t val)
{
	write_le(c, VFC_CONFIG, off, val, 1);
}

void vfc_cfg_write16(struct vfc *c, uint16_t off, uint16_t val)
{
	write_le(c, VFC_CONFIG, off, val, 2);
}

void vfc_cfg_write32(struct vfc *c, uint16_t off, uint32_t val)
{
	write_le(c, VFC_CONFIG, off, val, 4);
}

uint16_t vfc_find_cap(struct vfc *c, uint8_t id)
{
	uint8_t pos = vfc_cfg_read8(c, PCI_CAPABILITY_LIST);
	int left = 48;		/* as many as fit: a loop ends */

	while (pos && left--) {
		if (vfc_cfg_read8(c, pos + PCI_CAP_LIST_ID) == id)
			return pos;
		pos = vfc_cfg_read8(c, pos + PCI_CAP_LIST_NEXT);
	}
	return 0;
}

uint16_t vfc_find_ext_cap(struct vfc *c, uint16_t id)
{
	uint16_t pos = PCI_CFG_SPACE_SIZE;
	int left = 960;

	while (pos && left--) {
		uint32_t hdr = vfc_cfg_read32(c, pos);

		if (!hdr)
			return 0;
		if (PCI_EXT_CAP_ID(hdr) == id)
			return pos;
		pos = PCI_EXT_CAP_NEXT(hdr);
	}
	return 0;
}

void vfc_command(struct vfc *c, uint16_t set, uint16_t clear)
{
	uint16_t cmd = vfc_cfg_read16(c, PCI_COMMAND);

	vfc_cfg_write16(c, PCI_COMMAND, (uint16_t)((cmd & ~clear) | set));
}

/* The card */

int vfc_reset(struct vfc *c)
{
	return vfc_call(c, VFU_DEVICE_RESET, NULL, 0, NULL, 0, NULL, 0, NULL);
}

void vfc_flr(struct vfc *c)
{
	uint16_t ctl = vfc_find_cap(c, PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;

	vfc_cfg_write16(c, ctl,
			vfc_cfg_read16(c, ctl) | PCI_EXP_DEVCTL_BCR_FLR);
}

int vfc_region_info(struct vfc *c, uint32_t region,
		    struct vfu_region_info *info, int *fd)
{
	const struct vfu_region_info req = {
		.argsz = sizeof(req),
		.index = region,
	};
	int ret = vfc_call(c, VFU_DEVICE_GET_REGION_INFO, &req, sizeof(req),
			   NULL, 0, info, sizeof(*info), fd);

	if (ret < 0)
		return ret;
	return ret == sizeof(*info) ? 0 : -EBADMSG;
}

int vfc_irq_info(struct vfc *c, uint32_t index, struct vfu_irq_info *info)
{
	const struct vfu_irq_info req = { .argsz = sizeof(req), .index = index };
	int ret = vfc_call(c, VFU_DEVICE_GET_IRQ_INFO, &req, sizeof(req), NULL,
			   0, info, sizeof(*info), NULL);

	if (ret < 0)
		return ret;
	return ret == sizeof(*info) ? 0 : -EBADMSG;
}

int vfc_map_bar4(struct vfc *c)
{
	struct vfu_region_info info;
	void *ptr;
	int fd, ret;

	ret = vfc_region_info(c, VFC_BAR(4), &info, &fd);
	if (ret || !info.size)	/* a card may have none */
		return ret;
	if (fd < 0)
		return -ENODEV;
	ptr = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   (off_t)info.offset);
	ret = ptr == MAP_FAILED ? -errno : 0;
	close(fd);
	if (!ret) {
		c->bar4 = ptr;
		c->bar4_size = info.size;
	}
	return ret;
}

/* Guest memory */

int vfc_dma_map(struct vfc *c, uint64_t iova, uint64_t size, uint32_t flags,
		int fd, uint64_t offset)
{
	const struct vfu_dma_map_msg req = {
		.argsz = sizeof(req),
		.flags = flags,
		.offset = offset,
		.address = iova,
		.size = size,
	};

	return vfc_call(c, VFU_DMA_MAP, &req, sizeof(req), &fd, fd >= 0, NULL,
			0, NULL);
}

int vfc_dma_unmap(struct vfc *c, uint64_t iova, uint64_t size, uint32_t flags)
{
	const struct vfu_dma_unmap_msg req = {
		.argsz = sizeof(req),
		.flags = flags,
		.address = iova,
		.size = size,
	};
	struct vfu_dma_unmap_msg reply;
	int ret = vfc_call(c, VFU_DMA_UNMAP, &req, sizeof(req), NULL, 0, &reply,
			   sizeof(reply), NULL);

	if (ret < 0)
		return ret;
	return ret == sizeof(reply) && !memcmp(&req, &reply, sizeof(req)) ?
	       0 : -EBADMSG;
}

int vfc_ram(struct vfc *c, uint64_t iova, size_t size)
{
	void *ptr;

	c->ram_fd = memfd_create("guest-memory",
				 MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->ram_fd < 0)
		return -errno;
	if (ftruncate(c->ram_fd, (off_t)size) ||
	    fcntl(c->ram_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return -errno;
	ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->ram_fd,
		   0);
	if (ptr == MAP_FAILED)
		return -errno;
	c->ram = ptr;
	c->ram_iova = iova;
	c->ram_size = size;
	return vfc_dma_map(c, iova, size,
			   VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
			   c->ram_fd, 0);
}

void *vfc_ptr(struct vfc *c, uint64_t iova, size_t len)
{
	uint64_t off = iova - c->ram_iova;

	if (iova < c->ram_iova || off > c->ram_size || len > c->ram_size - off)
		must(-EFAULT, "guest address");
	return c->ram + off;
}

/* Interrupts */

int vfc_set_irqs(struct vfc *c, uint32_t flags, uint32_t index, uint32_t start,
		 uint32_t count, const int *fds, unsigned int nfds)
{
	const struct vfu_irq_set req = {
		.argsz = sizeof(req),
		.flags = flags,
		.index = index,
		.start = start,
		.count = count,
	};

	return vfc_call(c, VFU_DEVICE_SET_IRQS, &req, sizeof(req), fds, nfds,
			NULL, 0, NULL);
}

static void enable_kind(struct vfc *c, uint32_t index, bool on)
{
	bool msix = index == VFIO_PCI_MSIX_IRQ_INDEX;
	uint16_t pos = vfc_find_cap(c, msix ? PCI_CAP_ID_MSIX : PCI_CAP_ID_MSI);
	uint16_t off = pos + (msix ? PCI_MSIX_FLAGS : PCI_MSI_FLAGS);
	uint16_t bit = msix ? PCI_MSIX_FLAGS_ENABLE : PCI_MSI_FLAGS_ENABLE;
	uint16_t ctl = vfc_cfg_read16(c, off) & (uint16_t)~bit;

	if (!msix) {
		/* Grant all that is asked for. */
		ctl &= (uint16_t)~PCI_MSI_FLAGS_QSIZE;
		ctl |= (uint16_t)((ctl & PCI_MSI_FLAGS_QMASK) << 3);
	}
	vfc_cfg_write16(c, off, on ? ctl | bit : ctl);
}

int vfc_irq_setup(struct vfc *c, uint32_t index, unsigned int n)
{
	const uint32_t flags = VFIO_IRQ_SET_DATA_EVENTFD |
			       VFIO_IRQ_SET_ACTION_TRIGGER;
	unsigned int i, run;
	int ret;

	if (n > VFC_MAX_IRQS)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		c->irq[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (c->irq[i] < 0)
			return -errno;
	}
	c->irq_index = index;
	c->nr_irqs = n;
	enable_kind(c, index, true);
	for (i = 0; i < n; i += run) {
		run = n - i < FDS_PER_SET ? n - i : FDS_PER_SET;
		ret = vfc_set_irqs(c, flags, index, i, run, c->irq + i, run);
		if (ret)
			return ret;
	}
	return 0;
}

void vfc_irq_teardown(struct vfc *c)
{
	unsigned int i;

	must(vfc_set_irqs(c, VFIO_IRQ_SET_DATA_NONE |
			  VFIO_IRQ_SET_ACTION_TRIGGER, c->irq_index, 0, 0,
			  NULL, 0), "irq disable");
	enable_kind(c, c->irq_index, false);
	for (i = 0; i < c->nr_irqs; i++) {
		close(c->irq[i]);
		c->irq[i] = -1;
	}
	c->nr_irqs = 0;
}

uint64_t vfc_irq_wait(struct vfc *c, unsigned int vector, int timeout_ms)
{
	uint64_t n;

	if (vector >= c->nr_irqs)
		must(-EINVAL, "vector");
	if (wait_readable(c->irq[vector], timeout_ms) <= 0)
		return 0;
	return read(c->irq[vector], &n, sizeof(n)) == sizeof(n) ? n : 0;
}
