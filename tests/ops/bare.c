// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operators and images with nothing below them: what a bare-metal program has
 * to bring is here, all of it. It is linked, not run (bare.sh).
 */
#include "vtaimage.h"

void *memset(void *dst, int value, size_t count);
void *memcpy(void *restrict dst, const void *restrict src, size_t count);
int memcmp(const void *a, const void *b, size_t count);
void _start(void);

void *memset(void *dst, int value, size_t count)
{
	for (volatile unsigned char *p = dst; count--; p++)
		*p = (unsigned char)value;
	return dst;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t count)
{
	const unsigned char *from = src;

	for (volatile unsigned char *p = dst; count--; p++)
		*p = *from++;
	return dst;
}

int memcmp(const void *a, const void *b, size_t count)
{
	const volatile unsigned char *p = a, *q = b;

	for (; count--; p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

static struct vtaops_insn insns[1024];
static uint32_t uops[4096];
static struct vtaops_builder builder;
static struct vtaimage image;
static unsigned char file[4096];
volatile int result;

void _start(void)
{
	static struct vtaops_core core = {
		.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5, .log_block = 4,
		.log_uop_buff_size = 15, .log_inp_buff_size = 15, .log_wgt_buff_size = 18,
		.log_acc_buff_size = 17,
	};
	struct vtaops_post post = { .hi = 127 };

	result = vtaops_core_init(&core);
	vtaops_pack_identity(&core, file);
	vtaops_begin(&builder, &core, insns, 1024, uops, 4096, 0x1000);
	vtaops_conv2d(&builder, &(struct vtaops_conv2d) {
		.inp = 0x10000, .wgt = 0x20000, .out = 0x40000, .n = 1, .in = 64, .h = 14, .w = 14,
		.units = 64, .kh = 3, .kw = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1,
		.post = post });
	vtaops_max_pool(&builder, &(struct vtaops_window) {
		.inp = 0x40000, .out = 0x50000, .n = 1, .c = 64, .h = 14, .w = 14, .kh = 2, .kw = 2,
		.stride_h = 2, .stride_w = 2, .post = post });
	vtaops_add(&builder, &(struct vtaops_eltwise) {
		.a = 0x50000, .b = 0x50000, .out = 0x60000, .elements = 196, .post = post });
	result = vtaops_finish(&builder);
	result = vtaimage_open(&image, file, sizeof(file));
	result = vtaimage_write(&(struct vtaimage_source) { .core = &core, .name = "bare" },
				file, sizeof(file), &image);
	for (;;)
		;
}
