// SPDX-License-Identifier: Apache-2.0
/*
 * EPContext nodes: a program within a model, so that nothing is compiled when a session is made.
 * The operator is ONNX Runtime's (EP-Context-Design in its documents); the program is always
 * within the node (embed_mode 1). `vtac compile --emit=onnx` writes the same node.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define OPERATOR	"EPContext"
#define DOMAIN_NAME	"com.microsoft"
#define PROGRAM		"ep_cache_context"

/* Read an attribute, to be freed; NULL: there is none of this name and type. */
static OrtStatus *read_bytes(const OrtNode *node, const char *name, OrtOpAttrType type,
			     uint8_t **data, size_t *size)
{
	const OrtOpAttr *attr = NULL;
	OrtOpAttrType is;
	OrtStatus *err = ort->Node_GetAttributeByName(node, name, &attr);
	size_t got = 0;

	*data = NULL;
	*size = 0;
	if (err || !attr) {
		if (err)
			ort->ReleaseStatus(err);
		return NULL;
	}
	TRY(ort->OpAttr_GetType(attr, &is));
	if (is != type)
		return NULL;
	/* Without room it fails, and has set the bytes. */
	err = ort->ReadOpAttr(attr, type, NULL, 0, size);
	if (err)
		ort->ReleaseStatus(err);
	*data = calloc(*size + 1, 1);
	if (!*data)
		return ort_no_memory();
	err = *size ? ort->ReadOpAttr(attr, type, *data, *size, &got) : NULL;
	if (err) {
		free(*data);
		*data = NULL;
	}
	return err;
}

OrtStatus *context_is_ours(const OrtNode *node, bool *ours)
{
	const char *type, *domain;
	uint8_t *source;
	size_t size;

	*ours = false;
	TRY(ort->Node_GetOperatorType(node, &type));
	TRY(ort->Node_GetDomain(node, &domain));
	if (strcmp(type, OPERATOR) || strcmp(domain, DOMAIN_NAME))
		return NULL;
	TRY(read_bytes(node, "source", ORT_OP_ATTR_STRING, &source, &size));
	*ours = source && !strcmp((char *)source, PROVIDER_NAME);
	free(source);
	return NULL;
}

OrtStatus *context_read(const OrtNode *node, uint8_t **image, size_t *size)
{
	int64_t embedded = 1;
	uint8_t *mode;
	size_t bytes;

	TRY(read_bytes(node, "embed_mode", ORT_OP_ATTR_INT, &mode, &bytes));
	if (mode && bytes == sizeof(embedded))
		memcpy(&embedded, mode, sizeof(embedded));
	free(mode);
	if (embedded != 1)
		return ort_fail(ORT_INVALID_ARGUMENT, "the program is not in the model: write it "
				"again by vtac compile --emit=onnx");
	TRY(read_bytes(node, PROGRAM, ORT_OP_ATTR_STRING, image, size));
	return *image ? NULL : ort_fail(ORT_INVALID_ARGUMENT, "the node has no " PROGRAM);
}

/* ---- writing ---- */

static OrtStatus *add_text(OrtOpAttr **attrs, size_t *n, const char *name, const void *text,
			   size_t size)
{
	TRY(ort->CreateOpAttr(name, text, (int)size, ORT_OP_ATTR_STRING, &attrs[*n]));
	++*n;
	return NULL;
}

static OrtStatus *add_one(OrtOpAttr **attrs, size_t *n, const char *name)
{
	const int64_t one = 1;

	TRY(ort->CreateOpAttr(name, &one, 1, ORT_OP_ATTR_INT, &attrs[*n]));
	++*n;
	return NULL;
}

static OrtStatus *add_attributes(OrtOpAttr **attrs, size_t *n, const char *name,
				 const uint8_t *image, size_t size)
{
	TRY(add_one(attrs, n, "main_context"));
	TRY(add_one(attrs, n, "embed_mode"));
	TRY(add_text(attrs, n, PROGRAM, image, size));
	TRY(add_text(attrs, n, "source", PROVIDER_NAME, strlen(PROVIDER_NAME)));
	return add_text(attrs, n, "partition_name", name, strlen(name));
}

/* Names of the node's inputs, then of its outputs, in @m */
static OrtStatus *read_names(const OrtNode *node, struct memory *m, const char ***names,
			     size_t *n_in, size_t *n_out)
{
	const OrtValueInfo **infos;

	TRY(ort->Node_GetNumInputs(node, n_in));
	TRY(ort->Node_GetNumOutputs(node, n_out));
	infos = memory_get(m, *n_in + *n_out + 1, sizeof(*infos));
	*names = memory_get(m, *n_in + *n_out + 1, sizeof(**names));
	if (!infos || !*names)
		return ort_no_memory();
	TRY(ort->Node_GetInputs(node, infos, *n_in));
	TRY(ort->Node_GetOutputs(node, infos + *n_in, *n_out));
	for (size_t i = 0; i < *n_in + *n_out; i++)
		TRY(ort->GetValueInfoName(infos[i], &(*names)[i]));
	return NULL;
}

static OrtStatus *write_node(const OrtNode *node, struct memory *m, const uint8_t *image,
			     size_t size, OrtNode **context)
{
	OrtOpAttr *attrs[5] = { NULL };
	size_t n = 0, n_in, n_out;
	const char **names, *name;
	OrtStatus *err;

	if (size > INT32_MAX)
		return ort_fail(ORT_NOT_IMPLEMENTED, "the program has more than 2 GiB");
	TRY(read_names(node, m, &names, &n_in, &n_out));
	TRY(ort->Node_GetName(node, &name));
	err = add_attributes(attrs, &n, name, image, size);
	if (!err)
		err = ort->GetModelEditorApi()->CreateNode(OPERATOR, DOMAIN_NAME, name, names, n_in,
							   names + n_in, n_out, attrs, n, context);
	for (size_t i = 0; i < n; i++)
		ort->ReleaseOpAttr(attrs[i]);
	return err;
}

OrtStatus *context_write(const OrtNode *node, const uint8_t *image, size_t size,
			 OrtNode **context)
{
	struct memory memory = { 0 };
	OrtStatus *err = write_node(node, &memory, image, size, context);

	memory_free(&memory);
	return err;
}
