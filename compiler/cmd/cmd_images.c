// SPDX-License-Identifier: Apache-2.0
/* Images of each input of a model, from the paths that the user gives. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "output.h"

struct source {
	const char *input;		/* NULL: the only one */
	const char *path;
	struct cmd_pictures *pictures;	/* or files */
	struct vtac_image_files *files;
};

struct cmd_images {
	struct vtac_images images;
	struct vtac_error error;
	struct source source[CMD_INPUTS_MAX];
	unsigned int n;
};

struct cmd_images *cmd_images_new(void)
{
	return calloc(1, sizeof(struct cmd_images));
}

int cmd_images_add(const struct cli_option *option, char *text)
{
	struct cmd_images *c = option->to;
	char *path = access(text, F_OK) ? strchr(text, '=') : NULL;

	if (c->n == CMD_INPUTS_MAX)
		return cli_usage("too many inputs");
	if (path)
		*path++ = 0;
	c->source[c->n++] = (struct source){ .input = path ? text : NULL,
					     .path = path ? path : text };
	return CLI_OK;
}

bool cmd_images_given(const struct cmd_images *c)
{
	return c->n;
}

bool cmd_images_replaced(const struct cmd_images *c, const char *path)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (output_replaces(path, c->source[i].path))
			return true;
	return false;
}

static const struct vtac_images *images_of(const struct source *s)
{
	return s->pictures ? cmd_pictures_images(s->pictures) : vtac_images_of(s->files);
}

/* The source of input @name; NULL: there is none. */
static const struct source *source_of(const struct cmd_images *c, const char *name)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (!c->source[i].input || !strcmp(c->source[i].input, name))
			return &c->source[i];
	return NULL;
}

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct cmd_images *c = priv;
	const struct source *s = source_of(c, t->name);
	const struct vtac_images *images = s ? images_of(s) : NULL;

	if (!images || !images->read(images->priv, i, t, values))
		return images ? 0 : -1;
	c->error = *images->error;
	return -1;
}

static int fail(int status, const struct source *s, const char *why)
{
	return cmd_fail(status, s->path, why);
}

static int open_source(struct cmd_images *c, struct source *s,
		       const struct vtaimage_preprocess *pre)
{
	s->pictures = cmd_pictures_open(s->path, pre);
	if (!s->pictures)
		s->files = vtac_images_open(s->path, &c->error);
	if (!s->pictures && !s->files)
		return cmd_fail(CMD_ERROR, NULL, c->error.text);
	if (s != c->source && images_of(s)->count != images_of(c->source)->count)
		return fail(CMD_ERROR, s, "it has more or fewer images than the first input");
	return CMD_OK;
}

int cmd_images_open(struct cmd_images *c, const struct vtaimage_preprocess *pre, unsigned int max)
{
	for (unsigned int i = 0; i < c->n; i++) {
		int ret = open_source(c, &c->source[i], pre);

		if (ret)
			return ret;
	}
	if (c->n)
		c->images = (struct vtac_images){ .count = images_of(c->source)->count,
						  .read = read_image, .priv = c,
						  .error = &c->error };
	if (c->images.count > max)
		c->images.count = max;
	return CMD_OK;
}

/* "INPUT, INPUT, ..." */
static void list_inputs(const struct vtac_graph *g, char *text, size_t size)
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < g->n_inputs && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%.120s", i ? ", " : "",
				       g->inputs[i]->name);
}

int cmd_images_match(const struct cmd_images *c, const struct vtac_graph *g)
{
	char inputs[600], why[800];

	list_inputs(g, inputs, sizeof(inputs));
	for (unsigned int i = 0; i < c->n; i++) {
		const struct source *s = &c->source[i];
		unsigned int k = 0;

		while (s->input && k < g->n_inputs && strcmp(g->inputs[k]->name, s->input))
			k++;
		if (k < g->n_inputs && (s->input || g->n_inputs == 1) &&
		    source_of(c, g->inputs[k]->name) == s)
			continue;
		snprintf(why, sizeof(why),
			 "name the input that the images are for, once each: INPUT=PATH; the model "
			 "has %s",
			 inputs);
		return fail(CLI_USAGE, s, why);
	}
	for (unsigned int i = 0; i < g->n_inputs && c->n; i++)
		if (!source_of(c, g->inputs[i]->name)) {
			snprintf(why, sizeof(why),
				 "there are no images for this input: INPUT=PATH; the model has %s",
				 inputs);
			return cmd_fail(CLI_USAGE, g->inputs[i]->name, why);
		}
	return CMD_OK;
}

static int check_picture(const struct vtac_images *images, const struct vtac_tensor *t)
{
	float *values = malloc((size_t)vtac_elements(t) * sizeof(*values));
	int err = values ? images->read(images->priv, 0, t, values) : 0;

	free(values);
	return err;
}

int cmd_images_check(const struct cmd_images *c, struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_inputs; i++) {
		const struct source *s = source_of(c, g->inputs[i]->name);

		if (!s)
			continue;
		if (s->files ? vtac_images_check(s->files, g->inputs[i]) :
			       check_picture(images_of(s), g->inputs[i]))
			return vtac_fail(g, NULL, "%s", images_of(s)->error->text);
	}
	return 0;
}

struct vtac_images *cmd_images_all(struct cmd_images *c)
{
	return &c->images;
}

void cmd_images_free(struct cmd_images *c)
{
	for (unsigned int i = 0; c && i < c->n; i++) {
		vtac_images_close(c->source[i].files);
		cmd_pictures_close(c->source[i].pictures);
	}
	free(c);
}
