// SPDX-License-Identifier: Apache-2.0
/* From a net to a program: all passes on a copy of its graph. */
#include <stdlib.h>

#include "emit/emit.h"
#include "net_impl.h"

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const struct vtac_net_options *how = priv;

	return how->image(how->priv, i, t->name, values, (size_t)vtac_elements(t)) ? -1 : 0;
}

static int make_image(const struct vtac_program *p, uint8_t **image, size_t *size)
{
	struct vtac_report_options how = { .json = false };
	char *text = vtac_report_text(p, &how), *json;
	int err;

	how.json = true;
	json = vtac_report_text(p, &how);
	err = vtac_image(p, &(struct vtac_image_options) {
		.text = { [VTAIMAGE_REPORT] = text, [VTAIMAGE_REPORT_JSON] = json } },
		image, size);
	free(text);
	free(json);
	return err;
}

static int compile(struct vtac_graph *g, const struct vtac_options *opt, uint8_t **image,
		   size_t *size)
{
	struct vtac_program p;
	int err;

	if (vtac_compile(g, opt, &p))
		return -1;
	err = make_image(&p, image, size);
	vtac_program_free(&p);
	return err;
}

int vtac_net_compile(struct vtac_net *net, const struct vtac_net_options *how, uint8_t **image,
		     size_t *size)
{
	const struct vtac_images images = {
		.count = how->images, .read = read_image, .priv = (void *)(uintptr_t)how };
	const struct vtac_options opt = {
		.core = *how->core, .no_prune = how->no_prune, .cpu = how->cpu, .n_cpu = how->n_cpu,
		.images = how->image && how->images ? &images : NULL };
	struct vtac_graph *g;
	int err;

	if (net->g->error.text[0])
		return -1;
	if (!net->g->n_outputs)
		return vtac_fail(net->g, NULL, "The network has no output.");
	g = vtac_graph_clone(net->g);
	if (!g)
		return vtac_fail(net->g, NULL, "Out of memory.");
	if (how->name)
		g->name = how->name;
	err = compile(g, &opt, image, size);
	if (err)
		net->g->error = g->error;
	vtac_graph_free(g);
	return err;
}

int vtac_net_emit_c(const void *image, size_t size, const char *name, const char *dir, char *why,
		    size_t why_size)
{
	struct vtac_error error = { "", false };
	struct vtaimage opened;

	if (vtaimage_open(&opened, image, size)) {
		snprintf(why, why_size, "%s", opened.why);
		return -1;
	}
	if (!vtac_emit_c(&opened, name, dir, &error))
		return 0;
	snprintf(why, why_size, "%s", error.text);
	return -1;
}
