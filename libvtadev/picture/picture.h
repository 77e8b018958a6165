/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture.h - PNG and JPEG files as inputs of networks
 *
 * Files come from anyone: what they make this allocate is bounded, and what is wrong with
 * them is a sentence. There is no global state.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "vtaimage.h"

#define PICTURE_FILE_MAX	((size_t)256 << 20)	/* bytes */
#define PICTURE_PIXELS_MAX	((size_t)64 << 20)
#define PICTURE_WHY_MAX		200

struct picture {
	uint32_t width, height;
	uint8_t *rgba;		/* [height][width][4]; transparent is 0, opaque 255 */
};

/*
 * Of a file's bytes: PNG, or JPEG in grey or colour. Returns 0, or -1 and the reason in
 * @why. picture_free() after success.
 */
int picture_decode(struct picture *p, const uint8_t *data, size_t size,
		   char why[PICTURE_WHY_MAX]);
/* The same of a file. */
int picture_load(struct picture *p, const char *path, char why[PICTURE_WHY_MAX]);
/* picture_probe() - find out by a file's first bytes if it is a picture; 0, or -1 and the reason */
int picture_probe(const char *path, char why[PICTURE_WHY_MAX]);
void picture_free(struct picture *p);

/*
 * Convert it as @pre describes: @values are those of @tensor, plain, [1][C][H][W] or
 * [1][H][W][C], of the tensor's type (if it is packed, too). Returns 0, or -1 and the
 * reason.
 */
int picture_prepare(const struct picture *p, const struct vtaimage_preprocess *pre,
		    const struct vtaimage_tensor *tensor, void *values,
		    char why[PICTURE_WHY_MAX]);

/* Position of a picture in an input, across and down: pixel = (position - at) * scale */
struct picture_place {
	int64_t at[2];
	double scale[2];
	uint32_t input[2], picture[2];	/* sizes */
};

/* picture_place() - where picture_prepare() puts a picture in an input; arguments are the same */
void picture_place(const struct picture *p, const struct vtaimage_preprocess *pre,
		   const struct vtaimage_tensor *tensor, struct picture_place *place);

/*
 * picture_encode() - the picture as a PNG file
 *
 * @data: out: the file's bytes, to be freed. Returns 0, or -1 and the reason.
 */
int picture_encode(const struct picture *p, uint8_t **data, size_t *size,
		   char why[PICTURE_WHY_MAX]);

/* Of one format each; used by picture_decode(). */
int picture_decode_png(struct picture *p, const uint8_t *data, size_t size,
		       char why[PICTURE_WHY_MAX]);
int picture_decode_jpeg(struct picture *p, const uint8_t *data, size_t size,
			char why[PICTURE_WHY_MAX]);
/* Memory for width and height, which are set; -1 and the reason if they are too large. */
int picture_allocate(struct picture *p, char why[PICTURE_WHY_MAX]);

#endif /* PICTURE_H */
