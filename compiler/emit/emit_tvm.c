// SPDX-License-Identifier: Apache-2.0
/*
 * The output of TVM's graph executor as C: each function called once, in the graph's
 * order; tensors at offsets by their storage ids, in one memory for each device.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tvm.h"

#define FILE_MAX	((size_t)1 << 30)
#define ALIGN		64u
#define DEVICES_MAX	16u
#define SOURCES_MAX	64u
#define SCRATCH_MAX	(1ull << 30)
/* kTVMDLTensorHandle */
#define TENSOR_HANDLE	7

struct storage {
	bool used, param;
	uint32_t device;
	uint64_t bytes, offset;
};

struct device {
	uint32_t type;
	uint64_t bytes;
};

struct emitter {
	const struct vtac_tvm_files *files;
	struct vtac_emit_files out;
	struct vtac_error *error;
	const char *name;
	struct tvm_graph graph;
	struct tvm_params params;
	struct storage *storage;
	uint32_t n_storage;
	struct device device[DEVICES_MAX];
	uint32_t n_devices;
	uint64_t scratch;
	struct vtac_c_name *input;		/* of each node */
};

/* All of a file with a zero behind it, to be freed; NULL and the reason. */
static char *read_file(const char *path, size_t *size, struct vtac_error *error)
{
	FILE *f = fopen(path, "re");
	size_t room = 1 << 16;
	char *data = f ? malloc(room) : NULL, *more;

	*size = 0;
	while (data) {
		*size += fread(data + *size, 1, room - 1 - *size, f);
		if (*size < room - 1)
			break;
		errno = EFBIG;
		more = room < FILE_MAX ? realloc(data, room *= 2) : NULL;
		if (!more)
			free(data);
		data = more;
	}
	if (data)
		data[*size] = '\0';
	else
		tvm_fail(error, "%.300s: %s.", path, strerror(errno));
	if (f)
		fclose(f);
	return data;
}

/* ---- memory ---- */

static int bind_params(struct emitter *e)
{
	for (uint32_t i = 0; i < e->graph.n_nodes; i++) {
		const struct tvm_node *node = &e->graph.nodes[i];
		struct tvm_entry *entry = &e->graph.entries[node->first];

		if (node->function)
			continue;
		for (uint32_t j = 0; j < e->params.count; j++) {
			const struct tvm_param *p = &e->params.params[j];

			if (strcmp(p->name, node->name))
				continue;
			if (p->bytes != entry->bytes || p->rank != entry->rank ||
			    memcmp(p->dims, entry->dims, p->rank * sizeof(*p->dims)) ||
			    p->type.bits != entry->type.bits || p->type.code != entry->type.code)
				return tvm_fail(e->error, "Parameter %.100s has another shape or "
						"type "
						"in the graph.", p->name);
			entry->param = p;
		}
	}
	return 0;
}

static int find_storage(struct emitter *e)
{
	for (uint32_t i = 0; i < e->graph.n_entries; i++)
		if (e->graph.entries[i].storage >= e->n_storage)
			e->n_storage = e->graph.entries[i].storage + 1;
	e->storage = calloc(e->n_storage, sizeof(*e->storage));
	if (!e->storage)
		return tvm_fail(e->error, "Out of memory.");
	for (uint32_t i = 0; i < e->graph.n_entries; i++) {
		const struct tvm_entry *entry = &e->graph.entries[i];
		struct storage *s = &e->storage[entry->storage];

		if (s->used && (s->param || entry->param || s->device != entry->device))
			return tvm_fail(e->error, "Storage %u is of a parameter and something "
					"else, or "
					"of two devices.", entry->storage);
		s->used = true;
		s->param = entry->param;
		s->device = entry->device;
		s->bytes = entry->bytes > s->bytes ? entry->bytes : s->bytes;
	}
	return 0;
}

static struct device *device_of(struct emitter *e, uint32_t type)
{
	for (uint32_t i = 0; i < e->n_devices; i++)
		if (e->device[i].type == type)
			return &e->device[i];
	if (e->n_devices == DEVICES_MAX) {
		tvm_fail(e->error, "The graph is for more than %u devices.", DEVICES_MAX);
		return NULL;
	}
	e->device[e->n_devices].type = type;
	return &e->device[e->n_devices++];
}

static int place_storage(struct emitter *e)
{
	if (!device_of(e, TVM_DEVICE_CPU))
		return -1;
	for (uint32_t i = 0; i < e->n_storage; i++) {
		struct storage *s = &e->storage[i];
		struct device *d;

		if (!s->used || (s->param && s->device == TVM_DEVICE_CPU))
			continue;
		d = device_of(e, s->device);
		if (!d)
			return -1;
		s->offset = d->bytes;
		d->bytes += (s->bytes + ALIGN - 1) / ALIGN * ALIGN;
		if (d->bytes > VTAIMAGE_SEGMENT_MAX)
			return tvm_fail(e->error, "The tensors of device %u are larger than 1 GiB.",
					d->type);
	}
	return 0;
}

static bool is_copy(const struct tvm_node *node)
{
	return !strcmp(node->function, "__copy");
}

/* A call's values are on one device; only copies lead to another. */
static int check_devices(struct emitter *e)
{
	for (uint32_t i = 0; i < e->graph.n_nodes; i++) {
		const struct tvm_node *node = &e->graph.nodes[i];
		const struct tvm_entry *out = &e->graph.entries[node->first];

		if (!node->function)
			continue;
		if ((is_copy(node) || !strcmp(node->function, "__nop")) &&
		    (node->n_inputs != 1 || node->n_outputs != 1 ||
		     e->graph.entries[node->inputs[0]].bytes != out->bytes))
			return tvm_fail(e->error, "%.100s: %s has one input and one output of one "
					"size.",
					node->name, node->function);
		for (uint32_t j = 0; j < node->n_inputs && !is_copy(node); j++)
			if (e->graph.entries[node->inputs[j]].device != out->device)
				return tvm_fail(e->error, "%.100s: input %u is on another device, "
						"and "
						"there is no __copy between.", node->name, j);
	}
	return 0;
}

/*
 * Find the memory that functions allocate: at most the sum of a file's largest function. A function
 * begins in the first column; sizes are numbers.
 */
static int scan_scratch(struct emitter *e, const char *text, const char *path)
{
	static const char call[] = "TVMBackendAllocWorkspace(";
	uint64_t sum = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *end, *at;

		line += *line == '\n';
		end = strchr(line, '\n');
		if (*line == '}')
			sum = 0;
		at = strstr(line, call);
		if (!at || (end && at > end))
			continue;
		at = strstr(at, "(uint64_t)");
		if (!at || (end && at > end) || at[10] < '0' || at[10] > '9')
			return tvm_fail(e->error, "%.200s: how much a function allocates is no "
					"number.",
					path);
		sum += (strtoull(at + 10, NULL, 10) + ALIGN - 1) / ALIGN * ALIGN;
		if (sum > SCRATCH_MAX)
			return tvm_fail(e->error, "%.200s: a function allocates more than 1 "
					"GiB.", path);
		e->scratch = sum > e->scratch ? sum : e->scratch;
	}
	return 0;
}

/* Copied as they are, as functions0.c and so on. */
static int copy_sources(struct emitter *e)
{
	if (e->files->n_sources > SOURCES_MAX)
		return tvm_fail(e->error, "There are more than %u sources.", SOURCES_MAX);
	for (uint32_t i = 0; i < e->files->n_sources; i++) {
		const char *path = e->files->sources[i];
		size_t size;
		char *text = read_file(path, &size, e->error), name[32];
		FILE *f;
		int ret;

		if (!text)
			return -1;
		snprintf(name, sizeof(name), "functions%u.c", i);
		ret = scan_scratch(e, text, path);
		f = ret ? NULL : vtac_emit_open(&e->out, name);
		if (f)
			fwrite(text, 1, size, f);
		free(text);
		if (ret || !f)
			return -1;
	}
	return 0;
}

/* ---- what is written ---- */

static const char *c_type(struct tvm_type type)
{
	static const char * const ints[] = { "int8_t", "int16_t", "int32_t", "int64_t" };
	unsigned int log = type.bits > 32 ? 3 : type.bits > 16 ? 2 : type.bits > 8 ? 1 : 0;

	if (type.code == 2 && type.bits == 32)
		return "float";
	if (type.code == 2 && type.bits == 64)
		return "double";
	return type.code == 0 ? ints[log] : log == 0 ? "uint8_t" : log == 1 ? "uint16_t" :
	       log == 2 ? "uint32_t" : "uint64_t";
}

static bool is_input(const struct emitter *e, uint32_t node)
{
	return !e->graph.nodes[node].function &&
	       !e->graph.entries[e->graph.nodes[node].first].param;
}

static void put_shape(FILE *f, const struct tvm_entry *entry)
{
	fputs("\t/* ", f);
	for (uint32_t i = 0; i < entry->rank; i++)
		fprintf(f, "[%" PRId64 "]", entry->dims[i]);
	fprintf(f, "%s */\n", entry->rank ? "" : "one value");
}

static void output_name(const struct emitter *e, uint32_t i, char name[32])
{
	if (e->graph.n_heads == 1)
		snprintf(name, 32, "output");
	else
		snprintf(name, 32, "output%u", i);
}

static int put_header(struct emitter *e)
{
	FILE *f = vtac_emit_open(&e->out, "model.h");
	char name[32];

	if (!f)
		return -1;
	fprintf(f, "/* Network %s, from a graph of TVM's, made by vtac. */\n#ifndef MODEL_H\n"
		"#define MODEL_H\n\n#include <stdint.h>\n\nstruct %s_inputs {\n", e->name, e->name);
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		if (is_input(e, i)) {
			const struct tvm_entry *entry = &e->graph.entries[e->graph.nodes[i].first];

			fprintf(f, "\tconst %s *%s;", c_type(entry->type), e->input[i].text);
			put_shape(f, entry);
		}
	fprintf(f, "\tconst void *none;\t/* not used */\n};\n\nstruct %s_outputs {\n", e->name);
	for (uint32_t i = 0; i < e->graph.n_heads; i++) {
		output_name(e, i, name);
		fprintf(f, "\t%s *%s;", c_type(e->graph.entries[e->graph.heads[i]].type), name);
		put_shape(f, &e->graph.entries[e->graph.heads[i]]);
	}
	fprintf(f, "};\n\n/* Memory for the tensors of each device (DLDeviceType), aligned to 64 "
		"bytes; the CPU's\n * is followed by the memory that functions allocate. */\n");
	/* The CPU is the first of the devices. */
	fprintf(f, "#define %s_WORKSPACE_SIZE\t%" PRIu64 "\n", e->name,
		e->device[0].bytes + e->scratch);
	for (uint32_t i = 1; i < e->n_devices; i++)
		fprintf(f, "#define %s_WORKSPACE_SIZE_%u\t%" PRIu64 "\n", e->name,
			e->device[i].type, e->device[i].bytes);
	fprintf(f, "struct %s_workspace {\n", e->name);
	for (uint32_t i = 0; i < e->n_devices; i++)
		fprintf(f, "\tvoid *device_%u;\n", e->device[i].type);
	fprintf(f, "};\n\n/* Copies between devices, and waits for it; needed if there is more "
		"than "
		"one. */\nstruct %s_devices {\n\tvoid *handle;\n\tint32_t (*copy)(void *handle, "
		"void *dst, int32_t dst_device, const void *src,\n\t\t\tint32_t src_device, "
		"uint64_t bytes);\n};\n\n", e->name);
	fprintf(f, "/* Returns 0, or the error of a function or a copy. One run at a time. */\n"
		"int32_t %s_run(const struct %s_inputs *inputs, const struct %s_outputs *outputs,\n"
		"\t\tconst struct %s_workspace *workspace, const struct %s_devices *devices);\n\n"
		"#endif\n", e->name, e->name, e->name, e->name, e->name);
	return 0;
}

static int put_weights(struct emitter *e)
{
	FILE *f = vtac_emit_open(&e->out, "weights.h");
	char name[32];

	if (!f)
		return -1;
	fputs("/* The parameters; made by vtac. */\n\n", f);
	for (uint32_t i = 0; i < e->graph.n_entries; i++) {
		const struct tvm_param *p = e->graph.entries[i].param;

		if (!p)
			continue;
		fprintf(f, "/* entry %u of the graph */\nstatic ", i);
		snprintf(name, sizeof(name), "weights_%u", i);
		vtac_emit_bytes(f, name, p->data, (size_t)p->bytes);
		fputs("\n", f);
	}
	return 0;
}

/* Write the address of an entry's values. */
static void put_address(struct emitter *e, FILE *f, uint32_t i)
{
	const struct tvm_entry *entry = &e->graph.entries[i];

	if (entry->param && entry->device == TVM_DEVICE_CPU)
		fprintf(f, "(void *)weights_%u", i);
	else
		fprintf(f, "(uint8_t *)workspace->device_%u + %" PRIu64, entry->device,
			e->storage[entry->storage].offset);
}

static void put_tensor(struct emitter *e, FILE *f, uint32_t node, uint32_t i)
{
	const struct tvm_entry *entry = &e->graph.entries[i];
	bool flatten = e->graph.nodes[node].flatten;
	int64_t count = 1;

	for (uint32_t j = 0; j < entry->rank; j++)
		count *= entry->dims[j];
	fputs("\t\t\t{ ", f);
	put_address(e, f, i);
	fprintf(f, ",\n\t\t\t  { %u, 0 }, %u, { %u, %u, %u },\n\t\t\t  (int64_t[]) "
		"{", entry->device,
		flatten ? 1u : entry->rank, entry->type.code, entry->type.bits, entry->type.lanes);
	if (flatten)
		fprintf(f, " %" PRId64, count);
	for (uint32_t j = 0; j < entry->rank && !flatten; j++)
		fprintf(f, "%s %" PRId64, j ? "," : "", entry->dims[j]);
	fprintf(f, "%s }, (void *)0, 0 },\n", entry->rank || flatten ? "" : " 0");
}

static void put_call(struct emitter *e, FILE *f, uint32_t i)
{
	const struct tvm_node *node = &e->graph.nodes[i];
	uint32_t n = node->n_inputs + node->n_outputs;

	fprintf(f, "\t{\t/* node %u */\n\t\tDLTensor t[] = {\n", i);
	for (uint32_t j = 0; j < node->n_inputs; j++)
		put_tensor(e, f, i, node->inputs[j]);
	for (uint32_t j = 0; j < node->n_outputs; j++)
		put_tensor(e, f, i, node->first + j);
	fprintf(f, "\t\t};\n\n\t\terr = call(%s, t, %u);\n\t}\n\tif (err)\n\t\treturn err;\n",
		node->function, n);
}

static void put_copy(struct emitter *e, FILE *f, uint32_t dst, uint32_t src)
{
	fputs("\terr = devices->copy(devices->handle, ", f);
	put_address(e, f, dst);
	fprintf(f, ", %u,\n\t\t\t    ", e->graph.entries[dst].device);
	put_address(e, f, src);
	fprintf(f, ", %u, %" PRIu64 ");\n\tif (err)\n\t\treturn err;\n",
		e->graph.entries[src].device, e->graph.entries[src].bytes);
}

static void put_node(struct emitter *e, FILE *f, uint32_t i)
{
	const struct tvm_node *node = &e->graph.nodes[i];
	uint32_t in = node->n_inputs ? node->inputs[0] : 0;

	if (!strcmp(node->function, "__nop")) {
		/* The same memory, as a rule. */
		if (e->graph.entries[in].storage != e->graph.entries[node->first].storage) {
			fputs("\tcopy(", f);
			put_address(e, f, node->first);
			fputs(", ", f);
			put_address(e, f, in);
			fprintf(f, ", %" PRIu64 ");\n", e->graph.entries[in].bytes);
		}
	} else if (is_copy(node)) {
		put_copy(e, f, node->first, in);
	} else {
		put_call(e, f, i);
	}
}

/* To an input's memory, or a parameter's that the CPU does not keep. */
static void put_input(struct emitter *e, FILE *f, uint32_t i)
{
	uint32_t first = e->graph.nodes[i].first;
	const struct tvm_entry *entry = &e->graph.entries[first];
	bool cpu = entry->device == TVM_DEVICE_CPU;

	if (entry->param && cpu)
		return;
	fprintf(f, cpu ? "\tcopy(" : "\terr = devices->copy(devices->handle, ");
	put_address(e, f, first);
	if (!cpu)
		fprintf(f, ", %u", entry->device);
	if (entry->param)
		fprintf(f, ", weights_%u", first);
	else
		fprintf(f, ", inputs->%s", e->input[i].text);
	if (cpu)
		fprintf(f, ", %" PRIu64 ");\n", entry->bytes);
	else
		fprintf(f, ", %u, %" PRIu64 ");\n\tif (err)\n\t\treturn err;\n", TVM_DEVICE_CPU,
			entry->bytes);
}

static void put_output(struct emitter *e, FILE *f, uint32_t i)
{
	const struct tvm_entry *entry = &e->graph.entries[e->graph.heads[i]];
	char name[32];

	output_name(e, i, name);
	if (entry->device == TVM_DEVICE_CPU)
		fprintf(f, "\tcopy(outputs->%s, ", name);
	else
		fprintf(f, "\terr = devices->copy(devices->handle, outputs->%s, %d, ", name,
			TVM_DEVICE_CPU);
	put_address(e, f, e->graph.heads[i]);
	if (entry->device == TVM_DEVICE_CPU)
		fprintf(f, ", %" PRIu64 ");\n", entry->bytes);
	else
		fprintf(f, ", %u, %" PRIu64 ");\n\tif (err)\n\t\treturn err;\n", entry->device,
			entry->bytes);
}

static bool declared(const struct emitter *e, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (e->graph.nodes[j].function &&
		    !strcmp(e->graph.nodes[j].function, e->graph.nodes[i].function))
			return true;
	return e->graph.nodes[i].function[0] == '_' && e->graph.nodes[i].function[1] == '_';
}

static const char calling[] =
"typedef int32_t packed(void *args, int32_t *arg_type_ids, int32_t num_args,\n"
"\t\t       void *out_ret_value, int32_t *out_ret_tcode, void *resource_handle);\n"
"\n"
"static int32_t call(packed *function, DLTensor *tensors, int32_t count)\n"
"{\n"
"\tTVMValue args[ARGS_MAX], result;\n"
"\tint32_t codes[ARGS_MAX], result_code = 0;\n"
"\n"
"\tfor (int32_t i = 0; i < count; i++) {\n"
"\t\targs[i].v_handle = &tensors[i];\n"
"\t\tcodes[i] = kTVMDLTensorHandle;\n"
"\t}\n"
"\treturn function(args, codes, count, &result, &result_code, (void *)0);\n"
"}\n"
"\n"
"static void copy(void *dst, const void *src, uint64_t bytes)\n"
"{\n"
"\tuint8_t *to = dst;\n"
"\tconst uint8_t *from = src;\n"
"\n"
"\twhile (bytes--)\n"
"\t\t*to++ = *from++;\n"
"}\n\n";

static uint32_t most_args(const struct emitter *e)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < e->graph.n_nodes; i++) {
		uint32_t n = e->graph.nodes[i].n_inputs + e->graph.nodes[i].n_outputs;

		most = n > most ? n : most;
	}
	return most;
}

static int put_model(struct emitter *e)
{
	FILE *f = vtac_emit_open(&e->out, "model.c");

	if (!f)
		return -1;
	fprintf(f, "/* Network %s, from a graph of TVM's, made by vtac. */\n#include \"model.h\"\n"
		"#include \"scratch.h\"\n#include \"tvm/runtime/c_runtime_api.h\"\n"
		"#include \"weights.h\"\n\n#define ARGS_MAX\t%u\n\n", e->name, most_args(e));
	fputs(calling, f);
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		if (e->graph.nodes[i].function && !declared(e, i))
			fprintf(f, "packed %s;\n", e->graph.nodes[i].function);
	fprintf(f, "\nint32_t %s_run(const struct %s_inputs *inputs, const struct %s_outputs "
		"*outputs,\n\t\tconst struct %s_workspace *workspace, const struct %s_devices "
		"*devices)\n{\n\tint32_t err = 0;\n\n\t(void)devices;\n\t(void)inputs;\n", e->name,
		e->name, e->name, e->name, e->name);
	fprintf(f, "\ttvm_scratch_use((uint8_t *)workspace->device_1 + %" PRIu64 ", "
		"%" PRIu64 ");\n",
		e->device[0].bytes, e->scratch);
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		if (!e->graph.nodes[i].function)
			put_input(e, f, i);
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		if (e->graph.nodes[i].function)
			put_node(e, f, i);
	for (uint32_t i = 0; i < e->graph.n_heads; i++)
		put_output(e, f, i);
	fputs("\treturn err;\n}\n", f);
	return 0;
}

static void put_array(FILE *f, const struct tvm_entry *entry, const char *name, const char *prefix)
{
	fprintf(f, "static uint8_t %s%s[%" PRIu64 "] __attribute__((aligned(64)));\n", prefix, name,
		entry->bytes);
}

static const char transfer[] =
"static int transfer(const char *path, const char *mode, void *data, size_t bytes)\n"
"{\n"
"	FILE *file = fopen(path, mode);\n"
"	size_t done = 0;\n"
"\n"
"	if (file)\n"
"		done = *mode == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);\n"
"	if (file && !fclose(file) && done == bytes)\n"
"		return 0;\n"
"	perror(path);\n"
"	return 1;\n"
"}\n\n"
"static int32_t copy(void *handle, void *dst, int32_t dst_device, const void *src,\n"
"		    int32_t src_device, uint64_t bytes)\n"
"{\n"
"	(void)handle;\n"
"	(void)dst_device;\n"
"	(void)src_device;\n"
"	memcpy(dst, src, bytes);\n"
"	return 0;\n"
"}\n\n";

static void put_main_body(struct emitter *e, FILE *f)
{
	unsigned int argument = 1;
	char name[32];

	fprintf(f, "int main(int argc, char **argv)\n{\n\tconst struct %s_inputs inputs = "
		"{", e->name);
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		if (is_input(e, i))
			fprintf(f, " .%s = (void *)in_%s,", e->input[i].text, e->input[i].text);
	fprintf(f, " .none = NULL };\n\tconst struct %s_outputs outputs = {", e->name);
	for (uint32_t i = 0; i < e->graph.n_heads; i++) {
		output_name(e, i, name);
		fprintf(f, " .%s = (void *)%s,", name, name);
	}
	fprintf(f, " };\n\tconst struct %s_workspace workspace = {", e->name);
	for (uint32_t i = 0; i < e->n_devices; i++)
		fprintf(f, " .device_%u = memory_%u,", e->device[i].type, e->device[i].type);
	fprintf(f, " };\n\tconst struct %s_devices devices = { NULL, copy };\n\tint32_t err;\n\n",
		e->name);
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		argument += is_input(e, i);
	fprintf(f, "\tif (argc != %u) {\n\t\tfputs(\"a file for each input and output\\n\", "
		"stderr);\n"
		"\t\treturn 2;\n\t}\n", argument + e->graph.n_heads);
	argument = 1;
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		if (is_input(e, i))
			fprintf(f, "\tif (transfer(argv[%u], \"rb\", in_%s, sizeof(in_%s)))\n"
				"\t\treturn 1;\n", argument++, e->input[i].text,
				e->input[i].text);
	fprintf(f, "\terr = %s_run(&inputs, &outputs, &workspace, &devices);\n\tif (err) {\n"
		"\t\tfprintf(stderr, \"%s: error %%d\\n\", (int)err);\n\t\treturn "
		"1;\n\t}\n", e->name,
		e->name);
	for (uint32_t i = 0; i < e->graph.n_heads; i++) {
		output_name(e, i, name);
		fprintf(f, "\tif (transfer(argv[%u], \"wb\", %s, sizeof(%s)))\n\t\treturn 1;\n",
			argument++, name, name);
	}
	fputs("\treturn 0;\n}\n", f);
}

static int put_main(struct emitter *e)
{
	FILE *f = vtac_emit_open(&e->out, "main.c");
	char name[32];

	if (!f)
		return -1;
	fprintf(f, "/*\n * Network %s once: files with the inputs' values, then files for the "
		"outputs'.\n"
		" * Devices are this machine's memory: a start. Made by vtac.\n */\n"
		"#include <stdio.h>\n#include <string.h>\n\n#include \"model.h\"\n\n", e->name);
	for (uint32_t i = 0; i < e->graph.n_nodes; i++)
		if (is_input(e, i))
			put_array(f, &e->graph.entries[e->graph.nodes[i].first],
				  e->input[i].text, "in_");
	for (uint32_t i = 0; i < e->graph.n_heads; i++) {
		output_name(e, i, name);
		put_array(f, &e->graph.entries[e->graph.heads[i]], name, "");
	}
	for (uint32_t i = 0; i < e->n_devices; i++)
		fprintf(f, "static uint8_t memory_%u[%" PRIu64 "] __attribute__((aligned(64)));\n",
			e->device[i].type,
			e->device[i].bytes + (i ? 0 : e->scratch) + 1);
	fputs("\n", f);
	fputs(transfer, f);
	put_main_body(e, f);
	return 0;
}

static int put_makefile(struct emitter *e)
{
	FILE *f = vtac_emit_open(&e->out, "Makefile");

	if (!f)
		return -1;
	fputs("# Libraries of functions that are no C are given as LIBS.\n"
	      "CFLAGS ?= -O2\nLIBS ?=\n\nOBJS := main.o model.o backend.o", f);
	for (uint32_t i = 0; i < e->files->n_sources; i++)
		fprintf(f, " functions%u.o", i);
	fputs("\n\nmain: $(OBJS)\n\t$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lm\n\n"
	      "%.o: %.c model.h weights.h\n\t$(CC) $(CFLAGS) -I. -c -o $@ $<\n\n"
	      ".PHONY: clean\nclean:\n\trm -f main $(OBJS)\n", f);
	return 0;
}

static int name_inputs(struct emitter *e)
{
	e->input = calloc(e->graph.n_nodes, sizeof(*e->input));
	if (!e->input)
		return tvm_fail(e->error, "Out of memory.");
	for (uint32_t i = 0, n = 0; i < e->graph.n_nodes; i++)
		if (is_input(e, i)) {
			/* Of a thousand inputs no two have one name: that takes a while. */
			if (n++ > 1000)
				return tvm_fail(e->error, "The graph has more than 1,000 inputs.");
			e->input[i] = vtac_c_name(e->graph.nodes[i].name, e->input, i);
		}
	return 0;
}

static int emit(struct emitter *e)
{
	return bind_params(e) || find_storage(e) || place_storage(e) || check_devices(e) ||
	       name_inputs(e) || tvm_emit_api(&e->out) || copy_sources(e) ||
	       put_header(e) || put_weights(e) || put_model(e) || put_main(e) ||
	       put_makefile(e) ? -1 : 0;
}

int vtac_emit_tvm(const struct vtac_tvm_files *files, const char *name, const char *dir,
		  struct vtac_error *error)
{
	struct emitter e = {
		.files = files, .out = { .dir = dir, .error = error }, .error = error,
	};
	struct vtac_c_name program = vtac_c_name(name, NULL, 0);
	size_t graph_size, params_size;
	char *graph, *params = NULL;
	int ret = -1;

	e.name = program.text;
	graph = read_file(files->graph, &graph_size, error);
	if (graph)
		params = read_file(files->params, &params_size, error);
	if (params && !tvm_graph_read(&e.graph, graph, graph_size, error) &&
	    !tvm_params_read(&e.params, (const uint8_t *)params, params_size, error))
		ret = vtac_emit_end(&e.out, emit(&e));
	tvm_graph_free(&e.graph);
	tvm_params_free(&e.params);
	free(e.storage);
	free(e.input);
	free(graph);
	free(params);
	return ret;
}
