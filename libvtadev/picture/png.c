// SPDX-License-Identifier: Apache-2.0
/* PNG files, by libpng, which brings all kinds of them to 8 bits of RGBA, and writes these. */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

int picture_decode_png(struct picture *p, const uint8_t *data, size_t size,
		       char why[PICTURE_WHY_MAX])
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	int good;

	if (!png_image_begin_read_from_memory(&image, data, size)) {
		snprintf(why, PICTURE_WHY_MAX, "not a valid PNG file: %s", image.message);
		return -1;
	}
	image.format = PNG_FORMAT_RGBA;
	p->width = image.width;
	p->height = image.height;
	if (picture_allocate(p, why)) {
		png_image_free(&image);
		return -1;
	}
	good = png_image_finish_read(&image, NULL, p->rgba, 0, NULL);
	if (!good) {
		snprintf(why, PICTURE_WHY_MAX, "not a valid PNG file: %s", image.message);
		picture_free(p);
	}
	return good ? 0 : -1;
}

int picture_encode(const struct picture *p, uint8_t **data, size_t *size,
		   char why[PICTURE_WHY_MAX])
{
	png_image image = { .version = PNG_IMAGE_VERSION, .width = p->width, .height = p->height,
			    .format = PNG_FORMAT_RGBA };
	png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);

	*data = malloc(bytes);
	if (*data && png_image_write_to_memory(&image, *data, &bytes, 0, p->rgba, 0, NULL)) {
		*size = bytes;
		return 0;
	}
	snprintf(why, PICTURE_WHY_MAX, "no PNG file of it: %s",
		 *data ? image.message : "no memory");
	free(*data);
	*data = NULL;
	return -1;
}
