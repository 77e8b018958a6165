// SPDX-License-Identifier: GPL-2.0-only
/*
 * rig.c - helpers of the tests of libvta_driver on a card
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"

bool on_device(void)
{
	return rt_device();
}

void assert_said_once(char *text, const char *cause)
{
	if (times_in(text, "\n") != 1 || times_in(text, cause) != 1)
		fail_msg("wanted one line with \"%s\", got \"%s\"", cause, text);
	free(text);
}

void needs_card(const char *what)
{
	if (!on_device())
		return;
	print_message("# SKIP: a device in the process has no %s\n", what);
	skip();
}

void needs_fork(void)
{
	const char *device = getenv("VTADEV_DEVICE");

	if (!device || strncmp(device, "opencl", 6) != 0)
		return;
	print_message("# SKIP: OpenCL does not work in a child of a process that uses it\n");
	skip();
}

unsigned long card_value(unsigned int card, const char *name)
{
	unsigned long value = 0;
	char path[96];
	FILE *file;

	needs_card("files in sysfs");
	snprintf(path, sizeof(path), "/sys/class/vta/vta%u/%s", card, name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &value), 1);
	fclose(file);
	return value;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

void card_reset(void)
{
	needs_card("resets");
	write_file("/sys/class/vta/vta0/device/reset", "1");
}

void driver_write(const char *what, const char *pci)
{
	char path[96];

	needs_card("driver to be unbound");
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/vta/%s", what);
	write_file(path, pci);
}

static void *alloc_operand(size_t bytes, vta_phy_addr_t *addr)
{
	void *ptr = VTAMemAlloc(bytes, VTA_CACHED);

	assert_non_null(ptr);
	*addr = VTAMemGetPhyAddr(ptr);
	assert_true(*addr);
	return ptr;
}

void operands_make(struct operands *o, const struct core *core, unsigned int seed)
{
	size_t rows = (size_t)RT_ROWS * core->block, matrix = (size_t)core->block * core->block;

	o->inp = alloc_operand(rows, &o->product.inp);
	o->wgt = alloc_operand(matrix, &o->product.wgt);
	o->out = alloc_operand(rows, &o->product.out);
	o->expected = malloc(rows);
	assert_non_null(o->expected);
	o->out_bytes = rows;
	for (size_t i = 0; i < rows; i++)
		o->inp[i] = (int8_t)(i * 7 + seed * 13 + (i >> 4));
	for (size_t i = 0; i < matrix; i++)
		o->wgt[i] = (int8_t)(i * 5 + seed * 3 + (i >> 3));
}

void operands_free(struct operands *o)
{
	VTAMemFree(o->inp);
	VTAMemFree(o->wgt);
	VTAMemFree(o->out);
	free(o->expected);
}

bool operands_check(struct operands *o, const struct core *core, enum rt_kernel kernel)
{
	bool same;

	rt_expect(core, o->inp, o->wgt, o->expected, kernel);
	same = !memcmp(o->out, o->expected, o->out_bytes);
	memset(o->out, 0, o->out_bytes);
	return same;
}
