// SPDX-License-Identifier: Apache-2.0
/* JPEG files, by libjpeg. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include "picture.h"

/* A file of this many scans is made to keep the decoder busy. */
#define SCANS_MAX	200u

struct decoder {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf out;
	char *why;
};

static void fail_decoding(j_common_ptr common)
{
	struct decoder *d = common->client_data;
	char text[JMSG_LENGTH_MAX];

	common->err->format_message(common, text);
	snprintf(d->why, PICTURE_WHY_MAX, "not a valid JPEG file: %.150s", text);
	longjmp(d->out, 1);
}

/* Warnings: a file that is cut off is shown as far as it goes, but it is no input. */
static void warn(j_common_ptr common, int level)
{
	if (level < 0)
		fail_decoding(common);
}

static void watch(j_common_ptr common)
{
	struct decoder *d = common->client_data;

	if (d->jpeg.input_scan_number <= (int)SCANS_MAX)
		return;
	snprintf(d->why, PICTURE_WHY_MAX, "a JPEG file of more than %u scans", SCANS_MAX);
	longjmp(d->out, 1);
}

/* A row of RGB, in the last three quarters of the row of RGBA. */
static void spread(uint8_t *row, uint32_t width)
{
	const uint8_t *rgb = row + width;

	for (uint32_t x = 0; x < width; x++, row += 4, rgb += 3) {
		memmove(row, rgb, 3);
		row[3] = 255;
	}
}

static void decode(struct decoder *d, struct picture *p, const uint8_t *data, size_t size)
{
	struct jpeg_decompress_struct *jpeg = &d->jpeg;

	jpeg_create_decompress(jpeg);
	jpeg->progress = &d->progress;
	jpeg->mem->max_memory_to_use = (long)PICTURE_PIXELS_MAX * 8;
	jpeg_mem_src(jpeg, data, size);
	jpeg_read_header(jpeg, TRUE);
	jpeg->out_color_space = JCS_RGB;
	p->width = jpeg->image_width;
	p->height = jpeg->image_height;
	if (picture_allocate(p, d->why))
		longjmp(d->out, 1);
	jpeg_start_decompress(jpeg);
	while (jpeg->output_scanline < jpeg->output_height) {
		uint8_t *row = p->rgba + (size_t)jpeg->output_scanline * p->width * 4;
		JSAMPROW rgb = row + p->width;

		jpeg_read_scanlines(jpeg, &rgb, 1);
		spread(row, p->width);
	}
	jpeg_finish_decompress(jpeg);
}

int picture_decode_jpeg(struct picture *p, const uint8_t *data, size_t size,
			char why[PICTURE_WHY_MAX])
{
	struct decoder d = { .why = why };
	int failed;

	d.jpeg.err = jpeg_std_error(&d.errors);
	d.jpeg.client_data = &d;
	d.errors.error_exit = fail_decoding;
	d.errors.emit_message = warn;
	d.progress.progress_monitor = watch;
	failed = setjmp(d.out);
	if (!failed)
		decode(&d, p, data, size);
	jpeg_destroy_decompress(&d.jpeg);
	if (failed)
		picture_free(p);
	return failed ? -1 : 0;
}
