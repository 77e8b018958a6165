/* SPDX-License-Identifier: Apache-2.0 */
/* Files of arrays and of calibration images. */
#ifndef VTAC_INPUTS_H
#define VTAC_INPUTS_H

#include "ir/options.h"

/* npy.c: an array of numpy's, in C order. Values are read as float. */
struct vtac_npy {
	int fd;
	int rank;
	int64_t dims[VTAC_RANK_MAX];
	const struct vtac_npy_type *type;
	int64_t at;			/* of the values in the file */
};

/* 0, or -1 with a sentence. */
int vtac_npy_open(struct vtac_npy *npy, const char *path, struct vtac_error *error);
/* @count values from number @first on. */
int vtac_npy_read(struct vtac_npy *npy, int64_t first, int64_t count, float *values,
		  struct vtac_error *error);
void vtac_npy_close(struct vtac_npy *npy);

/* images.c: calibration images, from .npy files */
struct vtac_image_files;
struct vtac_image_files *vtac_images_open(const char *path, struct vtac_error *error);
const struct vtac_images *vtac_images_of(struct vtac_image_files *files);
/* Are all images for @t? 0, or -1 with the error of vtac_images_of(). */
int vtac_images_check(struct vtac_image_files *files, const struct vtac_tensor *t);
void vtac_images_close(struct vtac_image_files *files);
/* Read the classes of @count images: a number on each line of a file. To be freed. */
unsigned int *vtac_classes_read(const char *path, unsigned int count, struct vtac_error *error);

#endif /* VTAC_INPUTS_H */
