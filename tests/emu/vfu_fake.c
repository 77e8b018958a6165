// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE 1	/* memfd_create */
#include <dirent.h>
#include <linux/pci_regs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "vfu_fake.h"

struct fake fake;
struct vfc client;

static int fake_access(void *priv, unsigned int bar, uint64_t off, void *buf,
		       size_t len, bool write)
{
	struct fake *f = priv;

	f->accesses++;
	if (bar == 0 && write) {
		memcpy(f->bar0 + off, buf, len);
	} else if (bar == 0) {
		memcpy(buf, f->bar0 + off, len);
	} else if (write) {
		f->doorbell_off = off;
		f->doorbell_val = 0;
		memcpy(&f->doorbell_val, buf, len < 8 ? len : 8);
	} else {
		memset(buf, 0, len);
	}
	return 0;
}

static void fake_reset(void *priv, enum vfu_reset why)
{
	struct fake *f = priv;

	f->resets[why]++;
}

static void fake_master(void *priv, bool on)
{
	struct fake *f = priv;

	f->masters++;
	f->master = on;
}

static void fake_mem(void *priv, bool on)
{
	struct fake *f = priv;

	f->mems++;
	f->mem = on;
}

static void fake_power(void *priv, unsigned int state)
{
	struct fake *f = priv;

	f->powers++;
	f->power = state;
}

static void fake_connected(void *priv)
{
	struct fake *f = priv;

	f->connects++;
}

static void fake_disconnected(void *priv)
{
	struct fake *f = priv;

	f->disconnects++;
}

static void fake_log(void *priv, const char *line)
{
	struct fake *f = priv;

	(void)line;
	f->log_lines++;
}

static const struct vfu_device_ops fake_ops = {
	.access = fake_access,
	.reset = fake_reset,
	.bus_master = fake_master,
	.mem_space = fake_mem,
	.power = fake_power,
	.connected = fake_connected,
	.disconnected = fake_disconnected,
	.log = fake_log,
};

void fake_init(struct fake *f, unsigned int msi, unsigned int msix)
{
	const struct pci_params params = {
		.id = {
			.vendor = FAKE_VENDOR,
			.device = FAKE_DEVICE,
			.subvendor = FAKE_SUBVENDOR,
			.subdevice = FAKE_SUBDEVICE,
			.class_code = FAKE_CLASS,
			.revision = FAKE_REVISION,
		},
		.bar2_size = FAKE_BAR2_SIZE,
		.bar4_size = FAKE_BAR4_SIZE,
		.msi = msi,
		.msix = msix,
		.serial = FAKE_SERIAL,
	};

	memset(f, 0, sizeof(*f));
	assert_int_equal(pci_cfg_new(&f->pci, &params), 0);
	f->bar4_fd = memfd_create("card-memory", MFD_CLOEXEC);
	assert_true(f->bar4_fd >= 0);
	assert_int_equal(ftruncate(f->bar4_fd, FAKE_BAR4_SIZE), 0);
	f->bar4 = mmap(NULL, FAKE_BAR4_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       f->bar4_fd, 0);
	assert_ptr_not_equal(f->bar4, MAP_FAILED);
	f->config = (struct vfu_config) {
		.pci = f->pci,
		.ops = &fake_ops,
		.priv = f,
		.bar[4] = { .ptr = f->bar4, .fd = f->bar4_fd },
	};
}

void fake_fini(struct fake *f)
{
	vfu_free(f->srv);
	munmap(f->bar4, FAKE_BAR4_SIZE);
	close(f->bar4_fd);
	pci_cfg_free(f->pci);
	if (f->dir[0])
		rmdir(f->dir);
}

static void *serve(void *arg)
{
	struct fake *f = arg;

	f->run_result = vfu_run(f->srv);
	return NULL;
}

void fake_listen(struct fake *f)
{
	strcpy(f->dir, "/tmp/test_vfu.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/card.sock", f->dir);
	f->config.path = f->path;
	assert_int_equal(vfu_new(&f->srv, &f->config), 0);
}

void fake_run(struct fake *f)
{
	assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

void fake_start(struct fake *f)
{
	fake_listen(f);
	fake_run(f);
}

int fake_join(struct fake *f)
{
	pthread_join(f->thread, NULL);
	return f->run_result;
}

void fake_stop(struct fake *f)
{
	vfu_stop(f->srv);
	assert_int_equal(fake_join(f), 0);
	fake_fini(f);
}

static unsigned int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

void fake_serve(unsigned int msi, unsigned int msix)
{
	fake_init(&fake, msi, msix);
	fake_start(&fake);
	vfc_init(&client);
}

void fake_open(unsigned int msi, unsigned int msix)
{
	fake_serve(msi, msix);
	assert_int_equal(vfc_connect(&client, fake.path), 0);
}

int fake_close(void **state)
{
	(void)state;
	vfc_close(&client);
	fake_stop(&fake);
	return 0;
}

void fake_alive(void)
{
	struct vfc c;

	assert_int_equal(vfc_connect(&c, fake.path), 0);
	assert_int_equal(vfc_cfg_read16(&c, PCI_VENDOR_ID), FAKE_VENDOR);
	vfc_close(&c);
}

unsigned int fake_fds(void)
{
	unsigned int n;
	struct vfc c;

	assert_int_equal(vfc_connect(&c, fake.path), 0);
	n = count_fds();
	vfc_close(&c);
	return n;
}
