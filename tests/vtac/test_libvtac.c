// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of libvtac.h: networks by calls and from ONNX become programs; the first error is reported,
 * at the end of a chain of calls as well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../frame.h"
#include "api/libvtac.h"
#include "onnx.pb-c.h"

static const int64_t shape[] = { 1, 16, 8, 8 };
static struct vtaops_core core;
static const struct vtac_net_options options = { .core = &core, .name = "part", .no_prune = 1 };

static int setup(void **state)
{
	(void)state;
	core = (struct vtaops_core) {
		.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5, .log_block = 4,
		.log_uop_buff_size = 15, .log_inp_buff_size = 15, .log_wgt_buff_size = 18,
		.log_acc_buff_size = 17,
	};
	return vtaops_core_init(&core);
}

static struct vtac_tensor *weights(struct vtac_net *net, int64_t units, int64_t in, int64_t k)
{
	const int64_t dims[] = { units, in, k, k };
	float *w = calloc((size_t)(units * in * k * k), sizeof(*w));
	struct vtac_tensor *t;

	for (int64_t i = 0; i < units * in * k * k; i++)
		w[i] = (float)(i * 37 % 64 - 32) / 64;
	t = vtac_net_const(net, VTACPU_F32, 4, dims, w);
	free(w);
	return t;
}

/* One of each, of floats. */
static struct vtac_net *float_net(void)
{
	const struct vtac_net_window same = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 } };
	const struct vtac_net_window half = { .stride = { 2, 2 }, .kernel = { 2, 2 } };
	struct vtac_net *net = vtac_net_new();
	struct vtac_tensor *x = vtac_net_input(net, "x", VTACPU_F32, 4, shape), *a, *b, *y, *w;
	const int64_t w_dims[] = { 10, 32 };
	float dense[320];

	for (int i = 0; i < 320; i++)
		dense[i] = (float)(i * 29 % 50 - 25) / 50;
	a = vtac_net_conv2d(net, "a", x, weights(net, 16, 16, 3), NULL, &same);
	a = vtac_net_clip(net, "relu", a, 0, INFINITY);
	b = vtac_net_binary(net, "sum", VTAC_NET_ADD, a, x);
	y = vtac_net_concat(net, "both", 2, (struct vtac_tensor *[]) { a, b }, 1);
	y = vtac_net_pool(net, "pool", VTAC_NET_MAX_POOL, y, &half);
	y = vtac_net_flatten(net, "flat", vtac_net_global_mean(net, "mean", y));
	w = vtac_net_const(net, VTACPU_F32, 2, w_dims, dense);
	y = vtac_net_dense(net, "scores", y, w, NULL);
	assert_int_equal(vtac_net_output(net, y, "y"), 0);
	return net;
}

static int picture(void *priv, unsigned int i, const char *input, float *values, size_t count)
{
	unsigned int *asked = priv;

	assert_string_equal(input, "x");
	assert_int_equal(count, 16 * 8 * 8);
	for (size_t k = 0; k < count; k++)
		values[k] = (float)((k * 31 + i * 7) % 100) / 50 - 1;
	return asked && !(*asked)--;
}

static void open_image(struct vtaimage *v, const uint8_t *image, size_t size)
{
	if (vtaimage_open(v, image, size))
		fail_msg("%s", v->why);
}

TEST(floats_become_a_program)
{
	struct vtac_net_options how = options;
	struct vtac_net *net = float_net();
	uint8_t *image[2];
	struct vtaimage_tensor t;
	struct vtaimage v;
	size_t size[2];

	how.images = 4;
	how.image = picture;
	for (unsigned int i = 0; i < 2; i++)
		if (vtac_net_compile(net, &how, &image[i], &size[i]))
			fail_msg("%s", vtac_net_error(net));
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(image[0], image[1], size[0]);
	open_image(&v, image[0], size[0]);
	assert_string_equal(v.name, "part");
	assert_int_equal(v.stream_count, 1);
	vtaimage_tensor(&v, (uint32_t)vtaimage_find(&v, "x"), &t);
	assert_int_equal(t.role, VTAIMAGE_INPUT);
	vtaimage_tensor(&v, (uint32_t)vtaimage_find(&v, "y"), &t);
	assert_int_equal(t.role, VTAIMAGE_OUTPUT);
	assert_int_equal(t.dims[1], 10);
	assert_true(v.text[VTAIMAGE_REPORT].bytes > 100);
	free(image[0]);
	free(image[1]);
	vtac_net_free(net);
}

#define LONG	"StatefulPartitionedCall/model_with_a_rather_long_name/decoder_b"	/* 63 */

/* Ten letters of two bytes */
#define TEN	"\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251"

/* Names that are too long, that an image cannot have, or that an input has. */
TEST(outputs_of_any_name_are_told_apart)
{
	static const char *const names[] = { LONG "/one", LONG "/two", LONG "_2", "a b", "a_b",
					     "a=b", "\303\251", "x", "" };
	static const char *const found[] = {
		LONG, "StatefulPartitionedCall/model_with_a_rather_long_name/decoder_2",
		"StatefulPartitionedCall/model_with_a_rather_long_name/decoder_3", "a_b_2", "a_b",
		"a_b_3", "__", "x_2", "tensor" };
	struct vtac_net *net = vtac_net_new();
	struct vtac_tensor *x = vtac_net_input(net, "x", VTACPU_F32, 4, shape), *y;
	struct vtaimage_tensor t;
	struct vtaimage v;
	uint8_t *image;
	size_t size;

	for (unsigned int i = 0; i < 9; i++) {
		/* The report cuts names, between the bytes of a character if it counts these. */
		y = vtac_net_clip(net, i & 1 ? TEN TEN TEN : "a" TEN TEN TEN, x, 0, (float)i);
		assert_int_equal(vtac_net_output(net, i == 7 ? x : y, names[i]), 0);
	}
	if (vtac_net_compile(net, &options, &image, &size))
		fail_msg("%s", vtac_net_error(net));
	open_image(&v, image, size);
	assert_int_equal(v.tensor_count, 10);
	for (uint32_t i = 0; i < 9; i++) {
		vtaimage_tensor(&v, i + 1, &t);
		assert_int_equal(t.role, VTAIMAGE_OUTPUT);
		assert_string_equal(t.name, found[i]);
	}
	free(image);
	vtac_net_free(net);
}

/* A network that computes nothing is a program, too. */
TEST(an_input_or_a_constant_is_an_output)
{
	struct vtac_net *net = vtac_net_new();
	struct vtaimage_tensor x, y;
	struct vtaimage v;
	uint8_t *image;
	size_t size;

	assert_int_equal(vtac_net_output(net, vtac_net_input(net, "x", VTACPU_F32, 4, shape), "y"),
			 0);
	if (vtac_net_compile(net, &options, &image, &size))
		fail_msg("%s", vtac_net_error(net));
	open_image(&v, image, size);
	vtaimage_tensor(&v, 0, &x);
	vtaimage_tensor(&v, 1, &y);
	assert_int_not_equal(x.offset, y.offset);
	free(image);
	vtac_net_free(net);

	net = vtac_net_new();
	assert_int_equal(vtac_net_output(net, weights(net, 2, 3, 4), "y"), 0);
	if (vtac_net_compile(net, &options, &image, &size))
		fail_msg("%s", vtac_net_error(net));
	open_image(&v, image, size);
	assert_int_equal(v.tensor_count, 1);
	free(image);
	vtac_net_free(net);
}

TEST(a_net_is_compiled_for_another_core)
{
	struct vtac_net_options how = options;
	struct vtac_net *net = float_net();
	struct vtaops_core wide = core;
	struct vtaimage v;
	uint8_t *image;
	size_t size;

	how.images = 4;
	how.image = picture;
	assert_int_equal(vtac_net_compile(net, &how, &image, &size), 0);
	free(image);
	wide.log_block = 5;
	wide.log_wgt_buff_size = 19;
	assert_int_equal(vtaops_core_init(&wide), 0);
	how.core = &wide;
	assert_int_equal(vtac_net_compile(net, &how, &image, &size), 0);
	open_image(&v, image, size);
	assert_int_equal(v.core.log_block, 5);
	assert_int_equal(vtaimage_fits(&v, &core), -VTAOPS_ECORE);
	free(image);
	vtac_net_free(net);
}

TEST(a_node_is_kept_on_the_cpu)
{
	static const char *const cpu[] = { "a" };
	struct vtac_net_options how = options;
	struct vtac_net *net = float_net();
	struct vtaimage v;
	uint8_t *image;
	size_t size;

	how.cpu = cpu;
	how.n_cpu = 1;
	how.images = 4;
	how.image = picture;
	assert_int_equal(vtac_net_compile(net, &how, &image, &size), 0);
	open_image(&v, image, size);
	assert_non_null(memmem(v.text[VTAIMAGE_REPORT].text, v.text[VTAIMAGE_REPORT].bytes,
			       "--cpu", 5));
	free(image);
	vtac_net_free(net);
}

static void fails(struct vtac_net *net, const struct vtac_net_options *how, const char *why)
{
	uint8_t *image;
	size_t size;

	assert_int_equal(vtac_net_compile(net, how, &image, &size), -1);
	if (!strstr(vtac_net_error(net), why))
		fail_msg("\"%s\" does not say \"%s\"", vtac_net_error(net), why);
	vtac_net_free(net);
}

TEST(what_fails_is_said_at_the_end)
{
	const struct vtac_net_window window = { .stride = { 1, 1 } };
	const int64_t none[] = { 1, 0, 8, 8 };
	struct vtac_net *net = vtac_net_new();
	struct vtac_tensor *x = vtac_net_input(net, "x", VTACPU_I64, 4, shape), *y;

	assert_null(x);
	y = vtac_net_conv2d(net, "a", x, weights(net, 16, 16, 1), NULL, &window);
	y = vtac_net_quantize(net, vtac_net_clip(net, NULL, y, 0, 1), 1, 0, VTACPU_I8);
	assert_int_equal(vtac_net_output(net, y, "y"), -1);
	fails(net, &options, "no type 5 of values");

	net = vtac_net_new();
	assert_null(vtac_net_input(net, "x", VTACPU_F32, 4, none));
	fails(net, &options, "A size is less than 1");
	net = vtac_net_new();
	assert_null(vtac_net_input(net, "x", VTACPU_F32, 9, shape));
	fails(net, &options, "9 dimensions are too many");
	fails(vtac_net_new(), &options, "no output");

	net = vtac_net_new();
	x = vtac_net_input(net, "x", VTACPU_F32, 4, shape);
	y = vtac_net_conv2d(net, "narrow", x, weights(net, 16, 8, 1), NULL, &window);
	assert_int_equal(vtac_net_output(net, y, "y"), 0);
	fails(net, &options, "narrow");

	net = vtac_net_new();
	x = vtac_net_input(net, "x", VTACPU_I8, 4, shape);
	assert_null(vtac_net_dequantize(net, x, &(float){ 1 }, 1, 200));
	fails(net, &options, "Zero point 200");
	net = vtac_net_new();
	x = vtac_net_input(net, "x", VTACPU_I8, 4, shape);
	assert_null(vtac_net_dequantize(net, x, (float[]){ 1, 1 }, 2, 0));
	fails(net, &options, "neither one nor as many as");
}

/* A program's tensors, and texts, have limits. */
TEST(what_an_image_cannot_have_is_refused)
{
	static const int64_t line[] = { 1, (1 << 20) + 1 };
	struct vtac_net_options how = options;
	struct vtac_net *net = vtac_net_new();

	vtac_net_output(net, vtac_net_clip(net, "\303\251t\303", NULL, 0, 1), "y");
	vtac_net_clip(net, "\303\251t\303", vtac_net_input(net, "x", VTACPU_F32, 4, shape), 0, 1);
	fails(net, &options, "name is not UTF-8");
	how.name = "a\nb";
	fails(float_net(), &how, "control characters");
	net = vtac_net_new();
	vtac_net_output(net, vtac_net_input(net, "long", VTACPU_F32, 2, line), "y");
	fails(net, &options, "Dimension 1 of long is 1048577");
}

TEST(floats_without_images_are_refused)
{
	struct vtac_net_options how = options;
	unsigned int left = 1;

	fails(float_net(), &options, "images");
	how.images = 4;
	how.image = picture;
	how.priv = &left;
	/* The second of the calibration set: image 0 is the evaluation set. */
	fails(float_net(), &how, "Image 2 cannot be read");
}

/* An array of the first @n images of picture(), in the directory @dir. */
static void write_images(const char *dir, const char *name, unsigned int n)
{
	float values[16 * 8 * 8];
	char header[128], path[256];
	int len = snprintf(header, sizeof(header), "{'descr': '<f4', 'fortran_order': False, "
			   "'shape': (%u, 16, 8, 8), }", n);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	fwrite("\x93NUMPY\1\0", 1, 8, f);
	fputc(len, f);
	fputc(0, f);
	fwrite(header, 1, (size_t)len, f);
	for (unsigned int i = 0; i < n; i++) {
		picture(NULL, i, "x", values, 16 * 8 * 8);
		fwrite(values, sizeof(values), 1, f);
	}
	assert_int_equal(fclose(f), 0);
}

TEST(images_are_read_from_files)
{
	char dir[] = "/tmp/libvtac-XXXXXX", path[64], few[64];
	struct vtac_net_images files[] = { { "x", path }, { "x", few } };
	struct vtac_net_options how = options;
	struct vtac_net *net = float_net();
	uint8_t *called, *read;
	size_t size[2];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.npy", dir);
	snprintf(few, sizeof(few), "%s/few.npy", dir);
	write_images(dir, "x.npy", 6);
	write_images(dir, "few.npy", 2);
	how.images = 4;
	how.image = picture;
	assert_int_equal(vtac_net_compile(net, &how, &called, &size[0]), 0);
	how.image = NULL;
	how.files = files;
	how.n_files = 1;
	if (vtac_net_compile(net, &how, &read, &size[1]))
		fail_msg("%s", vtac_net_error(net));
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(called, read, size[0]);
	free(read);
	how.images = 0;
	assert_int_equal(vtac_net_compile(net, &how, &read, &size[1]), 0);
	assert_true(size[0] != size[1] || memcmp(called, read, size[0]));
	free(called);
	free(read);
	vtac_net_free(net);

	how.n_files = 2;
	fails(float_net(), &how, "few.npy has 2 images, ");
	how.n_files = 1;
	files[0].input = "z";
	fails(float_net(), &how, "Input x has no images");
	unlink(path);
	unlink(few);
	fails(float_net(), &how, "No such file");
	rmdir(dir);
}

TEST(results_have_the_bits_that_are_asked_for)
{
	struct vtac_net_precision bits[] = { { NULL, VTAC_NET_16_BITS }, { NULL, 0 } };
	struct vtac_net_options how = options;
	struct vtac_net *net = float_net();
	uint8_t *image[2];
	size_t size[2];

	how.images = 4;
	how.image = picture;
	how.precisions = bits;
	for (how.n_precisions = 0; how.n_precisions < 2; how.n_precisions++)
		if (vtac_net_compile(net, &how, &image[how.n_precisions], &size[how.n_precisions]))
			fail_msg("%s", vtac_net_error(net));
	/* The second sum has weights of its own. */
	assert_true(size[1] > size[0]);
	free(image[0]);
	free(image[1]);
	vtac_net_free(net);

	how.n_precisions = 2;
	bits[1] = (struct vtac_net_precision) { "nowhere", VTAC_NET_8_BITS };
	fails(float_net(), &how, "no node nowhere");
	bits[1].bits = VTAC_NET_AUTO_BITS;
	fails(float_net(), &how, "Results have 8 bits");
	bits[1] = (struct vtac_net_precision) { NULL, 7 };
	fails(float_net(), &how, "Results have 8 bits");
	how.n_precisions = 0;
	how.extra_cycles = 1001;
	fails(float_net(), &how, "1001 % are too many");
}

struct warnings {
	unsigned int count;
	char text[400];
};

static void take_warning(void *priv, const char *text)
{
	struct warnings *w = priv;

	w->count++;
	snprintf(w->text, sizeof(w->text), "%s", text);
}

TEST(random_inputs_are_warned_of)
{
	struct warnings warnings = { 0 };
	struct vtac_net_options how = options;
	struct vtac_net *net = float_net();
	uint8_t *image;
	size_t size;

	fails(float_net(), &how, "no images to calibrate with");
	how.warn = take_warning;
	how.priv = &warnings;
	assert_int_equal(vtac_net_compile(net, &how, &image, &size), 0);
	assert_int_equal(warnings.count, 1);
	assert_non_null(strstr(warnings.text, "no images, so ranges of values are those of 8"));
	assert_non_null(memmem(image, size, "of 8 random inputs: accuracy not known", 38));
	free(image);
	/* No range is needed in floats. */
	how.no_card = 1;
	assert_int_equal(vtac_net_compile(net, &how, &image, &size), 0);
	assert_int_equal(warnings.count, 1);
	free(image);
	vtac_net_free(net);
}

TEST(devices_are_known_without_images)
{
	struct vtac_net_options how = options;
	struct vtac_net_placement place;
	struct vtac_net *net = float_net();

	assert_int_equal(vtac_net_place(net, &how, &place), 0);
	assert_true(place.card >= 3);
	assert_true(place.unscaled);
	how.no_card = 1;
	assert_int_equal(vtac_net_place(net, &how, &place), 0);
	assert_int_equal(place.card, 0);
	assert_true(place.cpu >= 5);
	assert_false(place.unscaled);
	vtac_net_free(net);
}

TEST(without_the_card_floats_need_no_images)
{
	struct vtac_net_options how = options;
	struct vtac_net *net = float_net();
	struct vtaimage v;
	uint8_t *image;
	size_t size;

	how.no_card = 1;
	if (vtac_net_compile(net, &how, &image, &size))
		fail_msg("%s", vtac_net_error(net));
	open_image(&v, image, size);
	assert_int_equal(v.stream_count, 0);
	free(image);
	vtac_net_free(net);
}

/* One operator of four values. */
static uint8_t *onnx_bytes(const char *op, size_t *size)
{
	Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
	Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
	Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[] = { &opset };
	Onnx__NodeProto node = ONNX__NODE_PROTO__INIT, *nodes[] = { &node };
	Onnx__ValueInfoProto x = ONNX__VALUE_INFO_PROTO__INIT, y = ONNX__VALUE_INFO_PROTO__INIT;
	Onnx__ValueInfoProto *in[] = { &x }, *out[] = { &y };
	Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
	Onnx__TypeProto__Tensor tensor = ONNX__TYPE_PROTO__TENSOR__INIT;
	Onnx__TensorShapeProto dims = ONNX__TENSOR_SHAPE_PROTO__INIT;
	Onnx__TensorShapeProto__Dimension dim = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT;
	Onnx__TensorShapeProto__Dimension *all[] = { &dim };
	char x_name[] = "x", y_name[] = "y";
	char *in_names[1] = { x_name }, *out_names[1] = { y_name };
	uint8_t *bytes;

	opset.has_version = 1;
	opset.version = 13;
	model.opset_import = opsets;
	model.n_opset_import = 1;
	model.graph = &graph;
	dim.value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
	dim.dim_value = 4;
	dims.dim = all;
	dims.n_dim = 1;
	tensor.has_elem_type = 1;
	tensor.elem_type = 1;
	tensor.shape = &dims;
	type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	type.tensor_type = &tensor;
	x.name = in_names[0];
	y.name = out_names[0];
	x.type = &type;
	y.type = &type;
	node.op_type = (char *)(uintptr_t)op;
	node.input = in_names;
	node.n_input = 1;
	node.output = out_names;
	node.n_output = 1;
	graph.node = nodes;
	graph.n_node = 1;
	graph.input = in;
	graph.n_input = 1;
	graph.output = out;
	graph.n_output = 1;
	*size = onnx__model_proto__get_packed_size(&model);
	bytes = malloc(*size);
	onnx__model_proto__pack(&model, bytes);
	return bytes;
}

TEST(a_model_in_memory_becomes_a_program)
{
	struct vtac_net *net = vtac_net_new();
	size_t model_size, size;
	uint8_t *model = onnx_bytes("Relu", &model_size), *image;
	struct vtaimage v;

	assert_int_equal(vtac_net_read_onnx(net, model, model_size, NULL), 0);
	if (vtac_net_compile(net, &options, &image, &size))
		fail_msg("%s", vtac_net_error(net));
	open_image(&v, image, size);
	assert_int_equal(v.tensor_count, 2);
	assert_int_equal(v.step_count, 1);
	free(image);
	vtac_net_free(net);
	net = vtac_net_new();
	assert_int_equal(vtac_net_read_onnx(net, model, model_size / 2, NULL), -1);
	assert_true(*vtac_net_error(net));
	vtac_net_free(net);
	free(model);
}

TEST(refused_nodes_are_named)
{
	struct vtac_net *net = vtac_net_new();
	const char *why = NULL;
	size_t size;
	uint8_t *model = onnx_bytes("Nonsense", &size);

	assert_null(vtac_net_refused(net, 0, &why));
	assert_int_equal(vtac_net_read_onnx(net, model, size, NULL), -1);
	assert_string_equal(vtac_net_refused(net, 0, &why), "y");
	assert_string_equal(why, "The operator is not supported.");
	assert_null(vtac_net_refused(net, 1, NULL));
	vtac_net_free(net);
	free(model);
}

TEST(a_program_becomes_c)
{
	char dir[] = "/tmp/vtac-libvtac.XXXXXX", path[200], why[200] = "";
	struct vtac_net *net = vtac_net_new();
	size_t model_size, size;
	uint8_t *model = onnx_bytes("Relu", &model_size), *image;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(vtac_net_read_onnx(net, model, model_size, NULL), 0);
	assert_int_equal(vtac_net_compile(net, &options, &image, &size), 0);
	if (vtac_net_emit_c(image, size, "part", dir, why, sizeof(why)))
		fail_msg("%s", why);
	snprintf(path, sizeof(path), "rm -r %s/model.c %s", dir, dir);
	assert_int_equal(system(path), 0);
	assert_int_equal(vtac_net_emit_c(image, size - 1, "part", dir, why, sizeof(why)), -1);
	assert_true(*why);
	free(image);
	free(model);
	vtac_net_free(net);
}

GROUP(setup, NULL);
