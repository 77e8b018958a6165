/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dataset.h - a directory of images whose classes are known
 */
#ifndef VTACTL_DATASET_H
#define VTACTL_DATASET_H

#include <stddef.h>
#include <stdint.h>

struct labels;

/* An image: a PNG or JPEG file, or a .npy file with the values of the input. */
struct dataset_image {
	char *path;
	uint32_t class;
};

struct dataset {
	struct dataset_image *images;
	size_t count;
};

/**
 * dataset_load() - find the images of a directory, and their classes
 * @set: out: the images, in the order of the file of labels, or of folders and names
 * @directory: of the images
 * @labels: a file with a line for each image, "FILE CLASS": the file's name in @directory, a blank,
 *          and its class; a name with blanks ends at a tab. NULL: @directory has a folder for each
 *          class
 * @names: of the program's classes
 * @classes: number of the program's classes
 *
 * A class is a name of @names, or a number from 0. All files are opened once. Returns 0, or an exit
 * status after it has printed the reason; dataset_free() in both cases.
 */
int dataset_load(struct dataset *set, const char *directory, const char *labels,
		 const struct labels *names, size_t classes);
void dataset_free(struct dataset *set);

#endif /* VTACTL_DATASET_H */
