// SPDX-License-Identifier: GPL-2.0-only
/*
 * mixed_files.c - a program image of version 2 for run.sh, a picture, and what its run on
 * the emulator's core gives
 *
 *	mixed_files DIR
 */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "machine.h"
#include "net.h"
#include "picture.h"
#include "steps.h"

enum { SIDE = 31, PIXELS = NET_H * NET_H };

static const struct core_config config = { 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 };
static const char *dir;

static FILE *create(const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wbe");
	if (!file)
		machine_die("%s cannot be written", path);
	return file;
}

static void write_file(const char *name, const char *head, const void *data, size_t size)
{
	FILE *file = create(name);

	if (fwrite(head, 1, strlen(head), file) != strlen(head) ||
	    fwrite(data, 1, size, file) != size || fclose(file))
		machine_die("%s cannot be written", name);
}

/* A header of 118 bytes, with what is in front of it 128. */
static void write_npy(const char *name, const char *shape, const void *data, size_t size)
{
	char text[160];
	FILE *file = create(name);
	int length;

	length = snprintf(text, sizeof(text),
			  "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
	memset(text + length, ' ', 117 - (size_t)length);
	text[117] = '\n';
	if (fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file) != 10 ||
	    fwrite(text, 1, 118, file) != 118 || fwrite(data, 1, size, file) != size ||
	    fclose(file))
		machine_die("%s cannot be written", name);
}

/* A part of it is transparent. */
static void make_picture(uint8_t *rgba)
{
	for (unsigned int i = 0; i < SIDE * SIDE; i++, rgba += 4) {
		rgba[0] = (uint8_t)(i * 7);
		rgba[1] = (uint8_t)(i / SIDE * 8);
		rgba[2] = (uint8_t)(i % SIDE * 8);
		rgba[3] = i % 5 ? 255 : 100;
	}
}

static void write_png(const uint8_t *rgba)
{
	png_image png = { .version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE,
			  .format = PNG_FORMAT_RGBA };
	FILE *file = create("picture.png");

	if (!png_image_write_to_stdio(&png, file, 0, rgba, 0, NULL) || fclose(file))
		machine_die("picture.png cannot be written");
}

static void write_jpeg(const uint8_t *rgba)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	FILE *file = create("picture.jpg");

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_stdio_dest(&jpeg, file);
	jpeg.image_width = SIDE;
	jpeg.image_height = SIDE;
	jpeg.input_components = 3;
	jpeg.in_color_space = JCS_RGB;
	jpeg_set_defaults(&jpeg);
	jpeg_start_compress(&jpeg, TRUE);
	while (jpeg.next_scanline < SIDE) {
		uint8_t row[3 * SIDE], *rows = row;

		for (unsigned int x = 0; x < SIDE; x++, rgba += 4)
			memcpy(row + 3 * x, rgba, 3);
		jpeg_write_scanlines(&jpeg, &rows, 1);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	if (fclose(file))
		machine_die("picture.jpg cannot be written");
}

/* The three likeliest, with the labels that mixed.c gives. */
static void write_top(const float *scores)
{
	static const char * const labels[] = { "one", "two", "three, or drei", "", "f\u00fcnf" };
	float left[NET_UNITS];
	FILE *file = create("top3");

	memcpy(left, scores, sizeof(left));
	for (unsigned int rank = 1; rank <= 3; rank++) {
		unsigned int best = 0;

		for (unsigned int i = 1; i < NET_UNITS; i++)
			best = left[i] > left[best] ? i : best;
		fprintf(file, "%2u  %10.4f  ", rank, (double)left[best]);
		if (best < 5 && *labels[best])
			fprintf(file, "%s\n", labels[best]);
		else
			fprintf(file, "class %u\n", best);
		left[best] = -1;
	}
	if (fclose(file))
		machine_die("top3 cannot be written");
}

/* The picture's run on the emulator's core. */
static void write_results(const uint8_t *image, size_t size, uint8_t *rgba)
{
	const struct picture picture = { SIDE, SIDE, rgba };
	struct vtaimage_preprocess pre;
	struct vtaimage_tensor t;
	char why[PICTURE_WHY_MAX];
	struct machine m;
	struct steps s;
	float *values;

	emulated_init(&m, &config, 4u << 20, CORE_ORDER_GREEDY, 1);
	steps_init(&s, &m, image, size);
	vtaimage_preprocess(&s.image, 0, &pre);
	vtaimage_tensor(&s.image, pre.tensor, &t);
	values = steps_tensor(&s, t.name);
	if (picture_prepare(&picture, &pre, &t, values, why))
		machine_die("%s", why);
	write_npy("image.npy", "(9, 9)", values, PIXELS * sizeof(float));
	write_file("image.raw", "", values, PIXELS * sizeof(float));
	write_npy("other.npy", "(3, 27)", values, PIXELS * sizeof(float));
	steps_run(&s);
	values = steps_tensor(&s, "scores");
	write_file("scores.raw", "", values, NET_UNITS * sizeof(float));
	write_top(values);
	steps_fini(&s);
	emulated_fini(&m);
}

int main(int argc, char **argv)
{
	struct vtaops_core core = emulated_core(&config);
	uint8_t rgba[SIDE * SIDE * 4], *image;
	struct net net;
	size_t size;

	if (argc != 2)
		machine_die("mixed_files DIR");
	dir = argv[1];
	vtaops_core_init(&core);
	net_compile(&net, &core, 11);
	image = mixed_compile(&net, &size);
	write_file("mixed.vtap", "", image, size);
	make_picture(rgba);
	write_png(rgba);
	write_jpeg(rgba);
	write_results(image, size, rgba);
	free(image);
	net_free(&net);
	return 0;
}
