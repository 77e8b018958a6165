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
	struct vtac_error error;	/* of the last image that could not be read */
	struct vtac_npy *npy;		/* open files */
	char **path;			/* likewise */
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

/* The next size that is not 1, from *@i on; 0: there is none. */
static int64_t next_size(const int64_t *dims, int rank, int *i)
{
	while (*i < rank && dims[*i] == 1)
		++*i;
	return *i < rank ? dims[(*i)++] : 0;
}

/* The same sizes in the same order, but for those that are 1? */
static bool same_sizes(const int64_t *a, int n_a, const int64_t *b, int n_b)
{
	int64_t size = 1;
	int i = 0, k = 0;

	while (size) {
		size = next_size(a, n_a, &i);
		if (size != next_size(b, n_b, &k))
			return false;
	}
	return true;
}

/* An image is the tensor, or one of the images that the model takes at once. */
static int check_shape(struct vtac_image_files *f, unsigned int k, const struct vtac_tensor *t)
{
	const struct vtac_npy *npy = &f->npy[k];
	struct vtac_tensor image = { .rank = npy->rank - 1 };
	char is[128], wants[128];

	memcpy(image.dims, npy->dims + 1, (size_t)image.rank * sizeof(image.dims[0]));
	if (same_sizes(image.dims, image.rank, t->dims, t->rank) ||
	    (t->rank && same_sizes(image.dims, image.rank, t->dims + 1, t->rank - 1)))
		return 0;
	snprintf(f->error.text, sizeof(f->error.text),
		 "%.120s: its %lld images are %s; input %.80s takes %s.", f->path[k],
		 (long long)npy->dims[0], vtac_shape_text(&image, is), t->name,
		 vtac_shape_text(t, wants));
	return -1;
}

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct vtac_image_files *f = priv;
	unsigned int k = f->n;

	while (k > 1 && f->first[k - 1] > i)
		k--;
	k--;
	if (check_shape(f, k, t))
		return -1;
	for (int64_t at = 0; at < vtac_elements(t); at += size_of_image(&f->npy[k]))
		if (vtac_npy_read(&f->npy[k], (i - f->first[k]) * size_of_image(&f->npy[k]),
				  size_of_image(&f->npy[k]), values + at, &f->error))
			return -1;
	return 0;
}

int vtac_images_check(struct vtac_image_files *files, const struct vtac_tensor *t)
{
	for (unsigned int k = 0; k < files->n; k++)
		if (check_shape(files, k, t))
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
	f->path[f->n] = strdup(path);
	if (!f->path[f->n]) {
		vtac_npy_close(npy);
		return fail(error, path, "out of memory");
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
		f->path = calloc(FILES_MAX, sizeof(*f->path));
	}
	if (!f || !f->npy || !f->first || !f->path)
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
	f->images.error = &f->error;
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
	for (unsigned int i = 0; i < files->n; i++) {
		vtac_npy_close(&files->npy[i]);
		free(files->path[i]);
	}
	free(files->path);
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
	if (!f || !classes || ferror(f))
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
