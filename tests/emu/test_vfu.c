// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vfio-user protocol: negotiation, the device's description, and
 * clients that come, go and misbehave. test_vfu_refuse.c has requests to refuse.
 */
#define _GNU_SOURCE 1	/* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "../frame.h"
#include "vfu_client.h"
#include "vfu_fake.h"

#define RECONNECTS	1000

static int setup(void **state)
{
	(void)state;
	fake_serve(1, PCI_MSIX_MAX);
	return 0;
}

#define FAKE void *unused, setup, fake_close

/* Negotiation */

/* The reply's capabilities to a VERSION with this JSON; NULL: none came. */
static struct json_object *negotiated(const char *json, size_t *reply_len)
{
	struct json_object *root, *caps = NULL;
	struct vfu_version ver = { 0 };
	char buf[1024], reply[1024];
	struct vfc c;
	int ret;

	memcpy(buf, &ver, sizeof(ver));
	strcpy(buf + sizeof(ver), json);
	assert_int_equal(vfc_connect_raw(&c, fake.path), 0);
	ret = vfc_call(&c, VFU_VERSION, buf, sizeof(ver) + strlen(json) + 1,
		       NULL, 0, reply, sizeof(reply), NULL);
	assert_true(ret > (int)sizeof(ver));
	*reply_len = (size_t)ret;
	memcpy(&ver, reply, sizeof(ver));
	assert_int_equal(ver.major, 0);
	assert_int_equal(ver.minor, 0);
	assert_int_equal(reply[ret - 1], '\0');
	root = json_tokener_parse(reply + sizeof(ver));
	assert_non_null(root);
	if (json_object_object_get_ex(root, "capabilities", &caps))
		json_object_get(caps);
	json_object_put(root);
	vfc_close(&c);
	return caps;
}

TEST_F(FAKE, negotiate_like_qemu)
{
	static const char json[] =
		"{\"capabilities\": {\"migration\": {\"pgsize\": 4096, "
		"\"max_bitmap_size\": 268435456}, \"max_msg_fds\": 16, "
		"\"max_data_xfer_size\": 1048576, \"pgsizes\": 4096, "
		"\"max_dma_maps\": 65535, \"write_multiple\": true}}";
	struct json_object *caps, *val;
	size_t len;

	caps = negotiated(json, &len);
	/* QEMU's buffer for the reply is as large as its request. */
	assert_true(len <= sizeof(struct vfu_version) + sizeof(json));
	assert_int_equal(json_object_object_length(caps), 5);
	assert_true(json_object_object_get_ex(caps, "max_msg_fds", &val));
	assert_int_equal(json_object_get_int(val), VFU_MAX_FDS);
	assert_true(json_object_object_get_ex(caps, "pgsizes", &val));
	assert_int_equal(json_object_get_int(val), 4096);
	assert_true(json_object_object_get_ex(caps, "write_multiple", &val));
	assert_true(json_object_get_boolean(val));
	json_object_put(caps);
}

TEST_F(FAKE, negotiate_subset)
{
	struct json_object *caps;
	size_t len;

	caps = negotiated("{\"capabilities\":{\"max_dma_maps\":9,"
			  "\"twin_socket\":{\"supported\":true},\"x\":1}}",
			  &len);
	assert_int_equal(json_object_object_length(caps), 1);
	assert_true(json_object_object_get_ex(caps, "max_dma_maps", NULL));
	json_object_put(caps);
	assert_null(negotiated("{}", &len));
}

TEST_F(FAKE, negotiate_refused)
{
	static const char * const bad[] = {
		"", "x", "[]", "1", "{", "{}}", "{} {}", "{\"capabilities\":1}",
		"{\"capabilities\":{\"max_msg_fds\":\"16\"}}",
		"{\"capabilities\":{\"max_msg_fds\":-1}}",
		"{\"capabilities\":{\"pgsizes\":1.5}}",
		"{\"capabilities\":{\"write_multiple\":1}}",
	};
	const struct vfu_version v1 = { .major = 1 };
	const char unterminated[] = { 0, 0, 0, 0, '{', '}' };
	char deep[2048];
	struct vfc c;
	size_t i;

	assert_int_equal(vfc_connect_raw(&c, fake.path), 0);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(vfc_negotiate(&c, bad[i]), -EINVAL);
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(vfc_negotiate(&c, deep), -EINVAL);
	assert_int_equal(vfc_call(&c, VFU_VERSION, unterminated,
				  sizeof(unterminated), NULL, 0, NULL, 0, NULL),
			 -EINVAL);
	/* Nothing else before VERSION; then VERSION without JSON, once. */
	assert_int_equal(vfc_reset(&c), -EPROTO);
	assert_int_equal(vfc_negotiate(&c, NULL), 0);
	assert_int_equal(vfc_negotiate(&c, NULL), -EPROTO);
	assert_int_equal(vfc_reset(&c), 0);
	vfc_close(&c);

	assert_int_equal(vfc_connect_raw(&c, fake.path), 0);
	assert_int_equal(vfc_call(&c, VFU_VERSION, &v1, sizeof(v1), NULL, 0,
				  NULL, 0, NULL), -EPROTONOSUPPORT);
	assert_true(vfc_hung_up(&c));
	vfc_close(&c);
	fake_alive();
}

/* A client that takes no descriptors is not given a region to map. */
TEST_F(FAKE, negotiate_no_fds)
{
	struct vfu_region_info info;
	struct vfc c;
	int fd;

	assert_int_equal(vfc_connect_raw(&c, fake.path), 0);
	assert_int_equal(vfc_negotiate(&c, "{\"capabilities\":"
				       "{\"max_msg_fds\":0}}"), 0);
	assert_int_equal(vfc_region_info(&c, VFC_BAR(4), &info, &fd), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(info.flags, VFIO_REGION_INFO_FLAG_READ |
			 VFIO_REGION_INFO_FLAG_WRITE);
	vfc_close(&c);
}

/* The device's description */

TEST_F(FAKE, device_info)
{
	struct vfu_device_info info = { .argsz = sizeof(info) };
	struct vfu_region_io_fds iofds = { .argsz = sizeof(iofds) };
	struct vfu_irq_info irq;
	struct vfc c;

	assert_int_equal(vfc_connect(&c, fake.path), 0);
	assert_int_equal(vfc_call(&c, VFU_DEVICE_GET_INFO, &info, sizeof(info),
				  NULL, 0, &info, sizeof(info), NULL),
			 sizeof(info));
	assert_int_equal(info.argsz, sizeof(info));
	assert_int_equal(info.flags, VFIO_DEVICE_FLAGS_RESET |
			 VFIO_DEVICE_FLAGS_PCI);
	assert_int_equal(info.num_regions, VFIO_PCI_NUM_REGIONS);
	assert_int_equal(info.num_irqs, VFIO_PCI_MSIX_IRQ_INDEX + 1);

	assert_int_equal(vfc_irq_info(&c, VFIO_PCI_INTX_IRQ_INDEX, &irq), 0);
	assert_int_equal(irq.count, 0);
	assert_int_equal(vfc_irq_info(&c, VFIO_PCI_MSI_IRQ_INDEX, &irq), 0);
	assert_int_equal(irq.count, 1);
	assert_int_equal(vfc_irq_info(&c, VFIO_PCI_MSIX_IRQ_INDEX, &irq), 0);
	assert_int_equal(irq.count, PCI_MSIX_MAX);
	assert_int_equal(irq.flags, VFIO_IRQ_INFO_EVENTFD);
	assert_int_equal(vfc_irq_info(&c, VFIO_PCI_ERR_IRQ_INDEX, &irq),
			 -EOPNOTSUPP);
	assert_int_equal(vfc_irq_info(&c, VFIO_PCI_NUM_IRQS, &irq), -EINVAL);

	assert_int_equal(vfc_call(&c, VFU_DEVICE_GET_REGION_IO_FDS, &iofds,
				  sizeof(iofds), NULL, 0, &iofds, sizeof(iofds),
				  NULL), sizeof(iofds));
	assert_int_equal(iofds.count, 0);
	vfc_close(&c);
}

TEST_F(FAKE, region_info)
{
	static const uint64_t sizes[VFIO_PCI_NUM_REGIONS] = {
		[0] = PCI_BAR0_SIZE, [2] = FAKE_BAR2_SIZE, [4] = FAKE_BAR4_SIZE,
		[VFIO_PCI_CONFIG_REGION_INDEX] = PCI_CFG_SIZE,
	};
	struct vfu_region_info info;
	struct vfc c;
	uint32_t i;
	int fd;

	assert_int_equal(vfc_connect(&c, fake.path), 0);
	for (i = 0; i < VFIO_PCI_NUM_REGIONS; i++) {
		uint32_t want = sizes[i] ? VFIO_REGION_INFO_FLAG_READ |
				VFIO_REGION_INFO_FLAG_WRITE : 0;

		if (i == 4)
			want |= VFIO_REGION_INFO_FLAG_MMAP;
		assert_int_equal(vfc_region_info(&c, i, &info, &fd), 0);
		assert_int_equal(info.argsz, sizeof(info));
		assert_int_equal(info.index, i);
		assert_int_equal(info.size, sizes[i]);
		assert_int_equal(info.flags, want);
		assert_int_equal(fd >= 0, i == 4);
		if (fd >= 0)
			close(fd);
	}
	assert_int_equal(vfc_region_info(&c, i, &info, &fd), -EINVAL);
	vfc_close(&c);
}

/* Parts of a BAR: the short reply has the size that the full one needs. */
TEST_F(FAKE, region_sparse)
{
	static const struct vfu_area areas[] = {
		{ 0x1000, 0x2000 }, { 0x10000, 0x1000 },
	};
	struct {
		struct vfu_region_info info;
		struct vfu_sparse_cap cap;
		struct vfu_area areas[2];
	} reply;
	struct vfu_region_info req = { .argsz = sizeof(req), .index = 4 };
	struct fake f;
	struct vfc c;
	int fd;

	fake_init(&f, 0, 0);
	f.config.bar[4].areas = areas;
	f.config.bar[4].nr_areas = 2;
	fake_start(&f);
	assert_int_equal(vfc_connect(&c, f.path), 0);
	assert_int_equal(vfc_region_info(&c, 4, &reply.info, &fd), 0);
	assert_int_equal(reply.info.argsz, sizeof(reply));
	assert_int_equal(reply.info.cap_offset, 0);
	close(fd);
	req.argsz = sizeof(reply);
	assert_int_equal(vfc_call(&c, VFU_DEVICE_GET_REGION_INFO, &req,
				  sizeof(req), NULL, 0, &reply, sizeof(reply),
				  &fd), sizeof(reply));
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(reply.info.cap_offset, sizeof(req));
	assert_true(reply.info.flags & VFIO_REGION_INFO_FLAG_CAPS);
	assert_int_equal(reply.cap.id, VFIO_REGION_INFO_CAP_SPARSE_MMAP);
	assert_int_equal(reply.cap.nr_areas, 2);
	assert_memory_equal(reply.areas, areas, sizeof(areas));
	vfc_close(&c);
	fake_stop(&f);
}

/* Kinds of writes */

TEST_F(FAKE, no_reply)
{
	struct {
		struct vfu_hdr hdr;
		struct vfu_region_rw rw;
		uint32_t data;
	} msg = {
		.hdr = { .command = VFU_REGION_WRITE, .size = 36,
			 .flags = VFU_F_NO_REPLY },
		.rw = { .offset = 0x40, .count = 4 },
		.data = 0xfeedf00d,
	};
	struct vfc c;

	assert_int_equal(vfc_connect(&c, fake.path), 0);
	vfc_command(&c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_send_raw(&c, &msg, 36, NULL, 0), 0);
	/* A refused one is as silent; commands are done in order. */
	msg.rw.region = 9;
	assert_int_equal(vfc_send_raw(&c, &msg, 36, NULL, 0), 0);
	assert_int_equal(vfc_bar_read32(&c, 0, 0x40), 0xfeedf00d);
	vfc_close(&c);
}

TEST_F(FAKE, write_multi)
{
	struct {
		struct vfu_write_multi hdr;
		struct vfu_write_one one[3];
	} msg = {
		.hdr = { .wr_cnt = 3 },
		.one = {
			{ .offset = 0x100, .count = 4, .data = { 1, 2, 3, 4 } },
			{ .offset = 0x104, .count = 8, .data = { 5 } },
			{ .offset = 0x100, .count = 1, .data = { 9 } },
		},
	};
	uint64_t done;
	struct vfc c;

	assert_int_equal(vfc_connect(&c, fake.path), 0);
	vfc_command(&c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(vfc_call(&c, VFU_REGION_WRITE_MULTI, &msg, sizeof(msg),
				  NULL, 0, &done, sizeof(done), NULL),
			 sizeof(done));
	assert_int_equal(done, 3);
	assert_int_equal(vfc_bar_read32(&c, 0, 0x100), 0x04030209);
	assert_int_equal(vfc_bar_read64(&c, 0, 0x104), 5);
	/* One bad write among good ones: none is done. */
	msg.one[0].data[0] = 77;
	msg.one[2].region = 1;
	assert_int_equal(vfc_call(&c, VFU_REGION_WRITE_MULTI, &msg, sizeof(msg),
				  NULL, 0, &done, sizeof(done), NULL),
			 -EINVAL);
	assert_int_equal(vfc_bar_read32(&c, 0, 0x100), 0x04030209);
	vfc_close(&c);
}

/* Clients that come and go */

TEST_F(FAKE, disconnect_in_message)
{
	const struct vfu_hdr hdr = { .command = VFU_REGION_WRITE, .size = 100 };
	unsigned int before = fake_fds();
	size_t cut;

	for (cut = 1; cut <= 16; cut += 5) {
		struct vfc c;
		int fd = memfd_create("x", MFD_CLOEXEC);

		assert_int_equal(vfc_connect(&c, fake.path), 0);
		assert_int_equal(vfc_send_raw(&c, &hdr, cut, &fd, 1), 0);
		vfc_close(&c);
		close(fd);
	}
	assert_int_equal(fake_fds(), before);
}

/* A message in single bytes is as good as one in one piece. */
TEST_F(FAKE, trickle)
{
	struct {
		struct vfu_hdr hdr;
		struct vfu_region_rw rw;
	} msg = {
		.hdr = { .id = 7, .command = VFU_REGION_READ, .size = 32 },
		.rw = { .region = VFC_CONFIG, .count = 2 },
	};
	uint8_t reply[64];
	struct vfc c;
	size_t i;

	assert_int_equal(vfc_connect(&c, fake.path), 0);
	for (i = 0; i < sizeof(msg); i++)
		assert_int_equal(vfc_send_raw(&c, (uint8_t *)&msg + i, 1, NULL,
					      0), 0);
	assert_int_equal(vfc_recv_raw(&c, &msg.hdr, reply, sizeof(reply), NULL),
			 18);
	assert_int_equal(msg.hdr.id, 7);
	assert_int_equal(reply[16], (FAKE_VENDOR & 0xff));
	vfc_close(&c);
}

TEST_F(FAKE, reconnects_leak_nothing)
{
	unsigned int i, before, connects;
	struct vfc c;

	before = fake_fds();
	connects = fake.connects;
	for (i = 0; i < RECONNECTS; i++) {
		vfc_open(&c, fake.path, 0x100000, 65536);
		vfc_close(&c);
	}
	assert_int_equal(vfc_connect(&c, fake.path), 0);
	assert_int_equal(fake.connects - connects, RECONNECTS + 1);
	assert_int_equal(fake.disconnects, fake.connects - 1);
	assert_int_equal(vfu_dma_count(vfu_get_dma(fake.srv)), 0);
	vfc_close(&c);
	assert_int_equal(fake_fds(), before);
}

TEST_F(FAKE, second_client_waits)
{
	struct vfc a, b;

	assert_int_equal(vfc_connect(&a, fake.path), 0);
	assert_int_equal(vfc_connect_raw(&b, fake.path), 0);
	assert_int_equal(vfc_reset(&a), 0);
	vfc_close(&a);
	assert_int_equal(vfc_negotiate(&b, NULL), 0);
	vfc_close(&b);
}

TEST_F(FAKE, once)
{
	struct fake f;
	struct vfc c;

	fake_init(&f, 0, 1);
	f.config.once = true;
	fake_start(&f);
	/* One that sends nothing is no client yet. */
	assert_int_equal(vfc_connect_raw(&c, f.path), 0);
	vfc_close(&c);
	assert_int_equal(vfc_connect(&c, f.path), 0);
	vfc_close(&c);
	assert_int_equal(fake_join(&f), 0);
	assert_int_equal(f.disconnects, 1);
	fake_fini(&f);
	assert_int_equal(access(f.path, F_OK), -1);
}

/* The loop */

/*
 * A thread that sleeps in poll uses no processor time at all. It may take a
 * while to get there, so any such stretch will do.
 */
static bool goes_to_sleep(pthread_t thread)
{
	struct timespec before, after;
	clockid_t clock;
	int i;

	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	for (i = 0; i < 50; i++) {
		clock_gettime(clock, &before);
		usleep(100000);
		clock_gettime(clock, &after);
		if (!memcmp(&before, &after, sizeof(before)))
			return true;
	}
	return false;
}

/* Without a client, with one, with half a message, with replies unread. */
TEST_F(FAKE, idle_is_idle)
{
	const struct {
		struct vfu_hdr hdr;
		struct vfu_region_rw rw;
	} read_all = {
		.hdr = { .command = VFU_REGION_READ, .size = 32 },
		.rw = { .region = VFC_BAR(4), .count = FAKE_BAR4_SIZE },
	};
	struct vfc c;
	int i;

	assert_true(goes_to_sleep(fake.thread));
	assert_int_equal(vfc_connect(&c, fake.path), 0);
	assert_true(goes_to_sleep(fake.thread));
	assert_int_equal(vfc_send_raw(&c, &read_all, 20, NULL, 0), 0);
	assert_true(goes_to_sleep(fake.thread));
	assert_int_equal(vfc_send_raw(&c, (const uint8_t *)&read_all + 20, 12,
				      NULL, 0), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(vfc_send_raw(&c, &read_all, sizeof(read_all),
					      NULL, 0), 0);
	assert_true(goes_to_sleep(fake.thread));
	vfc_close(&c);
	fake_alive();
}

/* Passes on what comes in; asserting is for the test's own thread. */
static void ring(void *arg, int fd, short revents)
{
	uint64_t n = 0;

	(void)revents;
	if (read(fd, &n, sizeof(n)) != sizeof(n) ||
	    write(*(int *)arg, &n, sizeof(n)) != sizeof(n))
		abort();
}

/* The owner's descriptors are served while a client stuffs its socket. */
TEST_F(FAKE, owners_fd)
{
	const struct vfu_hdr reset = { .command = VFU_DEVICE_RESET,
				       .size = 16 };
	int in = eventfd(0, EFD_CLOEXEC), out = eventfd(0, EFD_CLOEXEC);
	struct pollfd p = { .fd = out, .events = POLLIN };
	uint64_t one = 1;
	struct fake f;
	struct vfc c;
	int i, fl;

	fake_init(&f, 0, 1);
	fake_listen(&f);
	assert_int_equal(vfu_add_fd(f.srv, in, POLLIN, ring, &out), 0);
	assert_int_equal(vfu_add_fd(f.srv, in, POLLIN, ring, &out), -EEXIST);
	fake_run(&f);

	assert_int_equal(vfc_connect(&c, f.path), 0);
	fl = fcntl(c.sock, F_GETFL);
	fcntl(c.sock, F_SETFL, fl | O_NONBLOCK);
	for (i = 0; i < 1000000; i++)
		if (vfc_send_raw(&c, &reset, sizeof(reset), NULL, 0))
			break;
	assert_true(i < 1000000);
	assert_int_equal(write(in, &one, sizeof(one)), sizeof(one));
	assert_int_equal(poll(&p, 1, VFC_TIMEOUT_MS), 1);
	vfc_close(&c);

	vfu_stop(f.srv);
	assert_int_equal(fake_join(&f), 0);
	vfu_del_fd(f.srv, in);
	fake_fini(&f);
	close(in);
	close(out);
}

/* A path that no client may find before its socket listens. */
static const char *awaited;
static bool found_too_early;

int listen(int fd, int backlog)
{
	found_too_early |= awaited && !access(awaited, F_OK);
	return (int)syscall(SYS_listen, fd, backlog);
}

TEST_F(FAKE, socket_listens_when_it_is_found)
{
	struct vfu_config config = fake.config;
	char path[128], other[160];
	struct vfu *srv;

	snprintf(path, sizeof(path), "%s/other", fake.dir);
	config.path = path;
	awaited = path;
	assert_int_equal(vfu_new(&srv, &config), 0);
	awaited = NULL;
	assert_false(found_too_early);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(other, sizeof(other), "%s.%d", path, (int)getpid());
	assert_int_equal(access(other, F_OK), -1);
	vfu_free(srv);
	assert_int_equal(access(path, F_OK), -1);
}

TEST_F(FAKE, socket_path)
{
	struct vfu_config config = fake.config;
	char path[128], longest[200];
	struct vfu *srv;
	struct stat st;
	int fd;

	assert_int_equal(stat(fake.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(vfu_new(&srv, &config), -EADDRINUSE);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	config.path = longest;
	assert_int_equal(vfu_new(&srv, &config), -ENAMETOOLONG);

	/* Another kind of file is left alone; a dead socket is replaced. */
	snprintf(path, sizeof(path), "%s/other", fake.dir);
	config.path = path;
	fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(vfu_new(&srv, &config), -EADDRINUSE);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
	assert_int_equal(vfu_new(&srv, &config), 0);
	vfu_free(srv);
	assert_int_equal(access(path, F_OK), -1);
}

/* The message handler alone, as the fuzzer uses it: any length of anything. */
TEST_F(FAKE, handle_without_socket)
{
	struct vfu_hdr msg = { .command = VFU_DEVICE_RESET, .size = 16 };
	struct vfu_reply reply;
	struct fake f;
	size_t len;

	fake_init(&f, 1, 1);
	assert_int_equal(vfu_new(&f.srv, &f.config), 0);
	for (len = 0; len < sizeof(msg); len++) {
		assert_int_equal(vfu_handle(f.srv, &msg, len, NULL, 0, &reply),
				 -EPROTO);
		assert_int_equal(reply.len, 0);
	}
	assert_int_equal(vfu_handle(f.srv, &msg, len, NULL, 0, &reply), 0);
	assert_int_equal(reply.len, sizeof(msg));
	memcpy(&msg, reply.data, sizeof(msg));
	assert_int_equal(msg.error, EPROTO);
	fake_fini(&f);
}

/* A server for each, so that one failure stays one. */
