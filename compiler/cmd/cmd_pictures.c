// SPDX-License-Identifier: Apache-2.0
/* Photographs to calibrate and to measure with, made inputs as the program will do it. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cmd.h"
#include "picture.h"

struct cmd_pictures {
	struct vtac_images images;
	struct vtac_error error;
	const struct vtaimage_preprocess *pre;
	char **paths;
};

static int is_picture(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && (!strcasecmp(dot, ".png") || !strcasecmp(dot, ".jpg") ||
		       !strcasecmp(dot, ".jpeg"));
}

static int read_picture(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct cmd_pictures *c = priv;
	struct vtaimage_tensor as = {
		.layout = VTAIMAGE_PLAIN, .type = VTACPU_F32, .rank = 4,
		.bytes = (uint32_t)vtac_bytes(t),
	};
	char why[PICTURE_WHY_MAX] = "the model's input is not a picture";
	struct picture p;
	int err = -1;

	if (t->rank == 4 && t->dtype == VTAC_F32) {
		for (int d = 0; d < 4; d++)
			as.dims[d] = (uint32_t)t->dims[d];
		as.n = as.dims[0];
		as.c = as.dims[1];
		as.h = as.dims[2];
		as.w = as.dims[3];
		err = picture_load(&p, c->paths[i], why);
		if (!err) {
			err = picture_prepare(&p, c->pre, &as, values, why);
			picture_free(&p);
		}
	}
	if (err)
		snprintf(c->error.text, sizeof(c->error.text), "%.200s: %s.", c->paths[i], why);
	return err;
}

/* The pictures of a directory, in the order of their names. */
static int find_pictures(struct cmd_pictures *c, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_picture, alphasort);

	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (asprintf(&file, "%s/%s", path, entries[i]->d_name) >= 0) {
			char **paths = realloc(c->paths, ((size_t)i + 1) * sizeof(*paths));

			if (paths) {
				c->paths = paths;
				c->paths[c->images.count++] = file;
			} else {
				free(file);
			}
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return c->images.count ? 0 : -1;
}

struct cmd_pictures *cmd_pictures_open(const char *path, const struct vtaimage_preprocess *pre)
{
	struct cmd_pictures *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->pre = pre;
	c->images.read = read_picture;
	c->images.priv = c;
	c->images.error = &c->error;
	if (find_pictures(c, path)) {
		cmd_pictures_close(c);
		return NULL;
	}
	return c;
}

const struct vtac_images *cmd_pictures_images(struct cmd_pictures *c)
{
	return &c->images;
}

void cmd_pictures_close(struct cmd_pictures *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < c->images.count; i++)
		free(c->paths[i]);
	free(c->paths);
	free(c);
}
