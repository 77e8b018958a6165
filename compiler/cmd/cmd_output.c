// SPDX-License-Identifier: Apache-2.0
/* Write programs: a file, or C in a directory. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "emit/emit.h"
#include "output.h"

static int write_file(const char *path, const void *data, size_t size)
{
	struct output out;
	int err = output_open(&out, path, 0666);

	if (!err) {
		fwrite(data, 1, size, out.file);
		err = output_close(&out);
	}
	return err ? cmd_fail(CMD_ERROR, path, strerror(-err)) : CMD_OK;
}

/* "photos/resnet50.onnx" is the program resnet50. */
static void name_of(char *name, size_t max, const char *model)
{
	const char *slash = strrchr(model, '/');
	size_t len;

	model = slash ? slash + 1 : model;
	len = strlen(model);
	if (len > 5 && !strcmp(model + len - 5, ".onnx"))
		len -= 5;
	snprintf(name, max, "%.*s", (int)len, model);
}

static int write_c(const char *dir, const char *name, const void *data, size_t size)
{
	struct vtac_error error = { "", false };
	struct vtaimage image;

	if (vtaimage_open(&image, data, size))
		return cmd_fail(CMD_ERROR, dir, image.why);
	return vtac_emit_c(&image, name, dir, &error) ? cmd_fail(CMD_ERROR, NULL, error.text) :
		CMD_OK;
}

/* Make the image of @n variants; @reports may be NULL. */
static int make_image(const struct vtac_program *p, unsigned int n,
		      const struct output_options *how, const char *name,
		      const struct output_reports *reports, uint8_t **data, size_t *size)
{
	struct vtac_image_options *image = calloc(n, sizeof(*image));
	int ret = CMD_OK;

	if (!image)
		return cmd_fail(CMD_ERROR, NULL, "out of memory");
	for (unsigned int i = 0; reports && i < n; i++) {
		image[i].text[VTAIMAGE_REPORT] = reports[i].text;
		image[i].text[VTAIMAGE_REPORT_JSON] = reports[i].json;
	}
	image->name = name;
	image->preprocess = how->preprocess;
	image->preprocess_count = how->preprocess ? 1 : 0;
	image->text[VTAIMAGE_LABELS] = how->labels;
	if (vtac_image_variants(p, image, n, data, size))
		ret = cmd_fail(CMD_MODEL, NULL, p[n - 1].graph->error.text);
	free(image);
	return ret;
}

int output_check_program(const struct vtac_graph *g, const struct vtac_options *opt,
			 const struct output_options *how)
{
	const struct vtac_options with = {
		.core = opt->core, .shapes = opt->shapes, .n_shapes = opt->n_shapes,
		.no_card = true };
	struct vtac_graph *stub = g->n_inputs ? vtac_graph_clone(g) : NULL;
	struct vtac_program p;
	uint8_t *data = NULL;
	size_t size = 0;
	int ret;

	if (!stub)
		return g->n_inputs ? cmd_fail(CMD_ERROR, NULL, "out of memory") : CMD_OK;
	stub->n_outputs = 0;
	if (vtac_graph_output(stub, stub->inputs[0]) || vtac_graph_dce(stub) ||
	    vtac_compile(stub, &with, &p)) {
		ret = cmd_fail(CMD_MODEL, NULL, stub->error.text);
	} else {
		ret = make_image(&p, 1, how, "stub", NULL, &data, &size);
		vtac_program_free(&p);
	}
	free(data);
	vtac_graph_free(stub);
	return ret;
}

static int write_onnx(struct vtac_graph *g, const char *path, const uint8_t *data, size_t size)
{
	uint8_t *model;
	size_t packed;
	int ret;

	if (vtac_emit_onnx(g, data, size, &model, &packed))
		return cmd_fail(CMD_MODEL, NULL, g->error.text);
	ret = write_file(path, model, packed);
	free(model);
	return ret;
}

int output_program(const struct vtac_program *p, unsigned int n, const struct output_options *how,
		   const struct output_reports *reports, enum output_form form, const char *path)
{
	char name[64];
	uint8_t *data = NULL;
	size_t size = 0;
	int ret;

	name_of(name, sizeof(name), how->model);
	ret = make_image(p, n, how, name, reports, &data, &size);
	if (!ret && form == OUTPUT_C)
		ret = write_c(path, name, data, size);
	else if (!ret && form == OUTPUT_ONNX)
		ret = write_onnx(p->graph, path, data, size);
	else if (!ret)
		ret = write_file(path, data, size);
	free(data);
	return ret;
}
