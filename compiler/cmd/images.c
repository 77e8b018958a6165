// SPDX-License-Identifier: Apache-2.0
/*
 * Images to calibrate with: a .npy file whose first dimension counts them, or a directory
 * with such files, in the order of their names.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inputs.h"

#define FILES_MAX	4096

struct vtac_image_files {
	struct vtac_images images;
	struct vtac_npy *npy;		/* open files */
	unsigned int *first;		/* number of each one's first image */
	unsigned int n;
};

static int fail(struct vtac_error *error, const char *path, const char *why)
{
	snprintf(error->text, sizeof(error->text), "%.200s: %.150s.", path, why);
	return -1;
}

static int64_t size_of_image(const struct vtac_npy *npy)
{
	int64_t n = 1;

	for (int i = 1; i < npy->rank; i++)
		n *= npy->dims[i];
	return n;
}

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct vtac_image_files *f = priv;
	struct vtac_error error;
	unsigned int k = f->n;

	while (k > 1 && f->first[k - 1] > i)
		k--;
	k--;
	/* A tensor of one image, or of as many as the model takes at once. */
	if (vtac_elements(t) % (size_of_image(&f->npy[k]) ? size_of_image(&f->npy[k]) : 1) ||
	    vtac_elements(t) < size_of_image(&f->npy[k]))
		return -1;
	for (int64_t at = 0; at < vtac_elements(t); at += size_of_image(&f->npy[k]))
		if (vtac_npy_read(&f->npy[k], (i - f->first[k]) * size_of_image(&f->npy[k]),
				  size_of_image(&f->npy[k]), values + at, &error))
			return -1;
	return 0;
}

static int add_file(struct vtac_image_files *f, const char *path, struct vtac_error *error)
{
	struct vtac_npy *npy = &f->npy[f->n];

	if (vtac_npy_open(npy, path, error))
		return -1;
	if (npy->rank < 2 || npy->dims[0] < 1 || npy->dims[0] > 1000000 || !size_of_image(npy)) {
		vtac_npy_close(npy);
		return fail(error, path, "its first dimension does not count images");
	}
	f->first[f->n++] = f->images.count;
	f->images.count += (unsigned int)npy->dims[0];
	return 0;
}

static int is_npy(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".npy");
}

static int add_directory(struct vtac_image_files *f, const char *path, struct vtac_error *error)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_npy, alphasort), err = 0;
	char file[4096];

	if (n < 0)
		return fail(error, path, strerror(errno));
	if (n == 0 || n > FILES_MAX)
		err = fail(error, path, n ? "too many .npy files" : "no .npy files in it");
	for (int i = 0; i < n; i++) {
		if (!err && snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name) <
			    (int)sizeof(file))
			err = add_file(f, file, error);
		free(entries[i]);
	}
	free(entries);
	return err;
}

struct vtac_image_files *vtac_images_open(const char *path, struct vtac_error *error)
{
	struct vtac_image_files *f = calloc(1, sizeof(*f));
	struct stat st;
	int err = -1;

	if (f) {
		f->npy = calloc(FILES_MAX, sizeof(*f->npy));
		f->first = calloc(FILES_MAX, sizeof(*f->first));
	}
	if (!f || !f->npy || !f->first)
		fail(error, path, "out of memory");
	else if (stat(path, &st))
		fail(error, path, strerror(errno));
	else
		err = S_ISDIR(st.st_mode) ? add_directory(f, path, error) :
			add_file(f, path, error);
	if (err) {
		vtac_images_close(f);
		return NULL;
	}
	f->images.read = read_image;
	f->images.priv = f;
	return f;
}

const struct vtac_images *vtac_images_of(struct vtac_image_files *files)
{
	return &files->images;
}

void vtac_images_close(struct vtac_image_files *files)
{
	if (!files)
		return;
	for (unsigned int i = 0; i < files->n; i++)
		vtac_npy_close(&files->npy[i]);
	free(files->npy);
	free(files->first);
	free(files);
}

unsigned int *vtac_classes_read(const char *path, unsigned int count, struct vtac_error *error)
{
	unsigned int *classes = calloc(count + 1u, sizeof(*classes)), n = 0;
	FILE *f = fopen(path, "r");

	while (f && classes && n < count && fscanf(f, "%9u", &classes[n]) == 1)
		n++;
	if (!f || !classes)
		snprintf(error->text, sizeof(error->text), "It cannot be read: %s.",
			 strerror(errno));
	else if (n < count)
		snprintf(error->text, sizeof(error->text),
			 "It has the classes of %u images, of which there are %u.", n, count);
	if (f)
		fclose(f);
	if (n == count && f && classes)
		return classes;
	free(classes);
	return NULL;
}
