// SPDX-License-Identifier: Apache-2.0
/*
 * A program image as C. The model is placed here, once: all addresses that the card sees
 * are constants.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

/* Addresses of the card's memory, and of the workspace */
#define MODEL_ADDR	0x40000000u
#define ARENA_ADDR	0x80000000u
#define WORKSPACE_ADDR	0xc0000000u

struct emitter {
	const struct vtaimage *image;
	struct vtac_emit_files files;
	const char *name;
	char upper[VTAC_C_NAME_MAX];
	struct vtac_c_name *tensor;	/* of each of the image's */
};

static void upper_case(char *out, const char *name)
{
	for (; *name; name++)
		*out++ = (char)(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
	*out = '\0';
}

static const char *type_name(uint32_t type)
{
	static const char * const names[] = {
		[VTACPU_F32] = "float", [VTACPU_I8] = "int8_t", [VTACPU_U8] = "uint8_t",
		[VTACPU_I32] = "int32_t", [VTACPU_I64] = "int64_t", [VTACPU_BOOL] = "uint8_t",
	};

	return names[type];
}

bool vtac_emit_is(const struct vtaimage_tensor *t, enum vtaimage_role role)
{
	return t->role == role || (role == VTAIMAGE_OUTPUT && t->role == VTAIMAGE_SIZE);
}

/* A member for each tensor of a role. */
static void put_struct(struct emitter *e, FILE *f, enum vtaimage_role role, const char *kind,
		       const char *qualifier)
{
	struct vtaimage_tensor t;
	bool any = false;

	fprintf(f, "struct %s_%s {\n", e->name, kind);
	for (uint32_t i = 0; i < e->image->tensor_count; i++) {
		vtaimage_tensor(e->image, i, &t);
		if (!vtac_emit_is(&t, role))
			continue;
		any = true;
		fprintf(f, "\t%s%s *%s;\t/* ", qualifier, type_name(t.type), e->tensor[i].text);
		for (uint32_t j = 0; j < t.rank; j++)
			fprintf(f, "[%" PRIu32 "]", t.dims[j]);
		if (t.layout == VTAIMAGE_PACKED)
			fprintf(f, " packed as vtaops.h says, %" PRIu32 " bytes", t.bytes);
		if (t.role == VTAIMAGE_SIZE)
			fprintf(f, ": the number in use in dimension %" PRId32 " of the one before",
				t.zero);
		if (t.scale > 0)
			fprintf(f, ", of %.9g * (value - %" PRId32 ")", (double)t.scale, t.zero);
		fputs(" */\n", f);
	}
	fprintf(f, "%s};\n\n", any ? "" : "\tint none;\n");
}

static void put_config(struct emitter *e, FILE *f)
{
	const struct vtaops_core *c = &e->image->core;
	const struct {
		const char *name;
		unsigned int value;
	} fields[] = {
		{ "INP_WIDTH", c->log_inp_width }, { "WGT_WIDTH", c->log_wgt_width },
		{ "ACC_WIDTH", c->log_acc_width }, { "BATCH", c->log_batch },
		{ "BLOCK", c->log_block }, { "UOP_BUFF_SIZE", c->log_uop_buff_size },
		{ "INP_BUFF_SIZE", c->log_inp_buff_size },
		{ "WGT_BUFF_SIZE", c->log_wgt_buff_size },
		{ "ACC_BUFF_SIZE", c->log_acc_buff_size },
	};

	fputs("/* The configuration of the core that this is for. */\n", f);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		fprintf(f, "#define %s_LOG_%s\t%u\n", e->upper, fields[i].name, fields[i].value);
	fputs("\n", f);
}

static const char commands[] =
"/*\n"
" * Commands to the card, by device addresses:\n"
" *  COPY  @rows rows of @count bytes, @src_pitch apart from @src on, @dst_pitch from @dst on\n"
" *  RUN   the @count instructions at @src\n"
" *  FILL  @count bytes from @dst on with the bytes of @src, the least significant first\n"
" */\n"
"#ifndef VTAC_COMMAND\n"
"#define VTAC_COMMAND\n"
"enum vtac_command_kind { VTAC_COMMAND_COPY, VTAC_COMMAND_RUN, VTAC_COMMAND_FILL };\n"
"struct vtac_command {\n"
"\tenum vtac_command_kind kind;\n"
"\tuint32_t dst, src, count, rows, dst_pitch, src_pitch;\n"
"};\n"
"#endif\n\n";

static int put_header(struct emitter *e)
{
	const struct vtaimage *v = e->image;
	FILE *f = vtac_emit_open(&e->files, "model.h");

	if (!f)
		return -1;
	fprintf(f, "/* Network %s, made by vtac. */\n#ifndef %s_MODEL_H\n#define %s_MODEL_H\n\n"
		"#include <stdint.h>\n\n", e->name, e->upper, e->upper);
	put_config(e, f);
	fprintf(f, "/*\n * Memory. The workspace is the caller's, aligned to 64 bytes and 0 before "
		"the first run;\n * the card has it at WORKSPACE_ADDR. The card has %s_model at "
		"MODEL_ADDR, which is only\n * read, and memory of its own at ARENA_ADDR.\n */\n",
		e->name);
	fprintf(f, "#define %s_WORKSPACE_SIZE\t%" PRIu32 "\n", e->upper, v->host_bytes);
	fprintf(f, "#define %s_MODEL_SIZE\t%" PRIu32 "\n", e->upper, v->model_bytes);
	fprintf(f, "#define %s_ARENA_SIZE\t%" PRIu32 "\n", e->upper, v->arena_bytes);
	fprintf(f, "#define %s_WORKSPACE_ADDR\t0x%xu\n", e->upper, WORKSPACE_ADDR);
	fprintf(f, "#define %s_MODEL_ADDR\t0x%xu\n", e->upper, MODEL_ADDR);
	fprintf(f, "#define %s_ARENA_ADDR\t0x%xu\n\n", e->upper, ARENA_ADDR);
	fprintf(f, "extern const uint8_t %s_model[%" PRIu32 "];\n\n", e->name,
		v->model_bytes ? v->model_bytes : 1);
	put_struct(e, f, VTAIMAGE_INPUT, "inputs", "const ");
	put_struct(e, f, VTAIMAGE_OUTPUT, "outputs", "");
	fputs(commands, f);
	fprintf(f, "struct %s_workspace {\n\tvoid *memory;\t/* %s_WORKSPACE_SIZE bytes */\n};\n\n",
		e->name, e->upper);
	fprintf(f, "/* Does the commands in their order and waits for the last; 0, or an error. "
		"*/\n"
		"struct %s_devices {\n\tvoid *card;\t/* first argument of submit */\n"
		"\tint32_t (*submit)(void *card, const struct vtac_command *commands, "
		"uint32_t count);\n};\n\n", e->name);
	fprintf(f, "/* One inference: returns 0, or the error of submit. Allocates nothing. */\n"
		"int32_t %s_run(const struct %s_inputs *inputs, const struct %s_outputs *outputs,\n"
		"\t\tconst struct %s_workspace *workspace, const struct %s_devices *devices);\n\n"
		"#endif\n", e->name, e->name, e->name, e->name, e->name);
	return 0;
}

static int put_weights(struct emitter *e)
{
	const struct vtaimage *v = e->image;
	uint8_t *placed = malloc((size_t)v->model_bytes + 1);
	char name[VTAC_C_NAME_MAX + 8];
	FILE *f;

	if (!placed || vtaimage_place(v, MODEL_ADDR, ARENA_ADDR, placed)) {
		snprintf(e->files.error->text, sizeof(e->files.error->text),
			 "The model of %s cannot be placed: no memory.", e->name);
		free(placed);
		return -1;
	}
	f = vtac_emit_open(&e->files, "weights.h");
	if (!f) {
		free(placed);
		return -1;
	}
	fputs("/* Constants of the card and of the CPU's kernels; made by vtac. */\n\n", f);
	snprintf(name, sizeof(name), "%s_model", e->name);
	vtac_emit_bytes(f, name, placed, v->model_bytes);
	fputs("\nstatic ", f);
	vtac_emit_bytes(f, "consts", v->consts, v->consts_bytes);
	free(placed);
	return 0;
}

static uint32_t device_address(struct vtaimage_place place)
{
	return place.offset + (place.segment == VTAIMAGE_IN_ARENA ? ARENA_ADDR : WORKSPACE_ADDR);
}

static void put_command(struct emitter *e, FILE *f, const struct vtaimage_step *s)
{
	bool there = s->dst.segment == VTAIMAGE_IN_ARENA;
	struct vtaimage_stream stream;

	switch (s->kind) {
	case VTAIMAGE_COPY:
		fprintf(f, "\t{ VTAC_COMMAND_COPY, 0x%xu, 0x%xu, %" PRIu32 ", %" PRIu32 ", %" PRIu32
			", %" PRIu32 " },\n", device_address(s->dst), device_address(s->src),
			s->bytes, s->rows ? s->rows : 1, there ? s->pitch : s->bytes,
			there ? s->bytes : s->pitch);
		return;
	case VTAIMAGE_FILL:
		fprintf(f, "\t{ VTAC_COMMAND_FILL, 0x%xu, 0x%xu, %" PRIu32 ", 0, 0, 0 },\n",
			device_address(s->dst), s->pattern, s->bytes);
		return;
	default:
		vtaimage_stream(e->image, s->stream, &stream);
		fprintf(f, "\t{ VTAC_COMMAND_RUN, 0, 0x%xu, %" PRIu32 ", 0, 0, 0 },\n",
			MODEL_ADDR + stream.insn_at, stream.insn_count);
	}
}

/* The constants of step @i, and of those behind it that are the card's too. */
static void put_constants(struct emitter *e, FILE *f, uint32_t i, bool first)
{
	struct vtaimage_step s;
	size_t words;

	vtaimage_step(e->image, i, &s);
	if (s.kind != VTAIMAGE_CPU) {
		if (first)
			fprintf(f, "static const struct vtac_command commands_%" PRIu32 "[] = {\n",
				i);
		put_command(e, f, &s);
		return;
	}
	words = vtacpu_params_bytes(s.kernel) / 4;
	fprintf(f, "/* %s */\nstatic const union vtacpu_params params_%" PRIu32 " = { .word = {",
		vtacpu_kernel_name(s.kernel), i);
	for (size_t j = 0; j < words; j++)
		fprintf(f, "%s0x%" PRIx32 ",", j % 8 ? " " : "\n\t", s.params.word[j]);
	fputs("\n} };\n", f);
}

static bool is_card(struct emitter *e, uint32_t i)
{
	struct vtaimage_step s;

	if (i >= e->image->step_count)
		return false;
	vtaimage_step(e->image, i, &s);
	return s.kind != VTAIMAGE_CPU;
}

static void put_kernel(FILE *f, uint32_t i, const struct vtaimage_step *s)
{
	const char *name = vtacpu_kernel_name(s->kernel);
	struct vtacpu_need need;

	vtacpu_need(s->kernel, &s->params, &need);
	fputs("\t{\n\t\tvoid *const io[] = {", f);
	for (uint32_t j = 0; j < need.operands; j++) {
		fputs(j % 4 ? " " : "\n\t\t\t", f);
		if (s->io[j].segment == VTAIMAGE_IN_HOST)
			fprintf(f, "host + %" PRIu32 ",", s->io[j].offset);
		else if (s->io[j].segment == VTAIMAGE_IN_CONSTS)
			fprintf(f, "(void *)(consts + %" PRIu32 "),", s->io[j].offset);
		else
			fputs("(void *)0,", f);
	}
	/* Several kernels have parameters of one type. */
	fprintf(f, "\n\t\t};\n\n\t\tvtacpu_%s((const void *)&params_%" PRIu32 ", io, host + %"
		PRIu32 ");\n\t}\n", name, i, s->scratch);
}

static void put_copies(struct emitter *e, FILE *f, enum vtaimage_role role)
{
	struct vtaimage_tensor t;

	for (uint32_t i = 0; i < e->image->tensor_count; i++) {
		vtaimage_tensor(e->image, i, &t);
		if (!vtac_emit_is(&t, role))
			continue;
		if (role == VTAIMAGE_INPUT)
			fprintf(f, "\tcopy(host + %" PRIu32 ", inputs->%s, %" PRIu32 ");\n",
				t.offset, e->tensor[i].text, t.bytes);
		else
			fprintf(f, "\tcopy(outputs->%s, host + %" PRIu32 ", %" PRIu32 ");\n",
				e->tensor[i].text, t.offset, t.bytes);
	}
}

static void put_run(struct emitter *e, FILE *f)
{
	const struct vtaimage *v = e->image;
	struct vtaimage_step s;
	uint32_t count;

	fprintf(f, "int32_t %s_run(const struct %s_inputs *inputs, const struct %s_outputs "
		"*outputs,\n"
		"\t\tconst struct %s_workspace *workspace, const struct %s_devices *devices)\n"
		"{\n\tuint8_t *host = workspace->memory;\n\tint32_t err;\n\n", e->name, e->name,
		e->name, e->name, e->name);
	fputs("\t(void)inputs;\n\t(void)outputs;\n\t(void)devices;\n\t(void)consts;\n"
	      "\t(void)err;\n", f);
	put_copies(e, f, VTAIMAGE_INPUT);
	for (uint32_t i = 0; i < v->step_count; i += count) {
		count = 1;
		vtaimage_step(v, i, &s);
		if (s.kind == VTAIMAGE_CPU) {
			put_kernel(f, i, &s);
			continue;
		}
		while (is_card(e, i + count))
			count++;
		fprintf(f, "\terr = devices->submit(devices->card, commands_%" PRIu32 ", %" PRIu32
			");\n\tif (err)\n\t\treturn err;\n", i, count);
	}
	put_copies(e, f, VTAIMAGE_OUTPUT);
	fputs("\treturn 0;\n}\n", f);
}

static int put_model(struct emitter *e)
{
	FILE *f = vtac_emit_open(&e->files, "model.c");
	bool open = false;

	if (!f)
		return -1;
	fprintf(f, "/* Network %s, made by vtac. */\n#include \"model.h\"\n#include \"weights.h\"\n"
		"#include \"vtacpu.h\"\n\n"
		"static void copy(void *dst, const void *src, uint32_t bytes)\n{\n"
		"\tuint8_t *to = dst;\n\tconst uint8_t *from = src;\n\n"
		"\twhile (bytes--)\n\t\t*to++ = *from++;\n}\n\n", e->name);
	for (uint32_t i = 0; i < e->image->step_count; i++) {
		put_constants(e, f, i, !open);
		open = is_card(e, i) && is_card(e, i + 1);
		if (!open)
			fputs(is_card(e, i) ? "};\n\n" : "\n", f);
	}
	put_run(e, f);
	return 0;
}

static int put_main(struct emitter *e)
{
	FILE *f = vtac_emit_open(&e->files, "main.c");

	if (!f)
		return -1;
	vtac_emit_main(f, e->name, e->upper, e->image, e->tensor);
	f = vtac_emit_open(&e->files, "Makefile");
	if (!f)
		return -1;
	vtac_emit_makefile(f);
	return 0;
}

int vtac_emit_c(const struct vtaimage *image, const char *name, const char *dir,
		struct vtac_error *error)
{
	struct emitter e = { .image = image, .files = { .dir = dir, .error = error } };
	struct vtac_c_name program = vtac_c_name(name, NULL, 0);
	struct vtaimage_tensor t;
	int ret;

	e.name = program.text;
	upper_case(e.upper, e.name);
	e.tensor = calloc(image->tensor_count + 1, sizeof(*e.tensor));
	if (!e.tensor) {
		snprintf(error->text, sizeof(error->text), "Out of memory.");
		return -1;
	}
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		e.tensor[i] = vtac_c_name(t.name, e.tensor, i);
	}
	ret = put_header(&e) || put_weights(&e) || put_model(&e) || put_main(&e) ? -1 : 0;
	ret = vtac_emit_end(&e.files, ret);
	free(e.tensor);
	return ret;
}
