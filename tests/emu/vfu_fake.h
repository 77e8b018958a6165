/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device that only remembers, behind a vfio-user server in a thread: what
 * the tests of the transport run against.
 */
#ifndef VTA_TESTS_VFU_FAKE_H
#define VTA_TESTS_VFU_FAKE_H

#include <pthread.h>

#include "emulator/vfu/vfu.h"
#include "vfu_client.h"

#define FAKE_VENDOR	0x1af1
#define FAKE_DEVICE	0x2bf2
#define FAKE_SUBVENDOR	0x3cf3
#define FAKE_SUBDEVICE	0x4df4
#define FAKE_CLASS	0x5ef5a6u
#define FAKE_REVISION	0x7b
#define FAKE_BAR2_SIZE	(4u * 65536)
#define FAKE_BAR4_SIZE	0x100000u
#define FAKE_SERIAL	0x0123456789abcdefull

/*
 * Written by the server's thread. A test reads it after the reply to what
 * caused the change, which orders the two.
 */
struct fake {
	struct vfu *srv;
	struct pci_cfg *pci;
	struct vfu_config config;
	char dir[64];
	char path[96];
	pthread_t thread;
	int run_result;
	int bar4_fd;
	uint8_t *bar4;

	uint8_t bar0[PCI_BAR0_SIZE];
	uint64_t doorbell_off;		/* the last write to BAR2 */
	uint64_t doorbell_val;
	unsigned int accesses;
	unsigned int resets[2];		/* by enum vfu_reset */
	unsigned int masters, mems, powers;
	bool master, mem;
	unsigned int power;
	unsigned int connects, disconnects;
	unsigned int log_lines;
};

/* The device, its server on a socket, and vfu_run in a thread. */
void fake_init(struct fake *f, unsigned int msi, unsigned int msix);
void fake_listen(struct fake *f);
void fake_run(struct fake *f);
int fake_join(struct fake *f);		/* waits for vfu_run: its result */
void fake_fini(struct fake *f);

void fake_start(struct fake *f);	/* listen and run */
void fake_stop(struct fake *f);		/* stop, join and fini */

/*
 * The one that most tests run against, a new one for each so that a failure
 * stays one: fake_serve starts it, fake_open connects the client too, and
 * fake_close is a cmocka teardown for both.
 */
extern struct fake fake;
extern struct vfc client;
void fake_serve(unsigned int msi, unsigned int msix);
void fake_open(unsigned int msi, unsigned int msix);
int fake_close(void **state);

/* A server that was refused something still serves the next client. */
void fake_alive(void);
/*
 * Descriptors open in this process, server and client, with a fresh client
 * connected: by then the server has put the one before behind it.
 */
unsigned int fake_fds(void);

#endif
