// SPDX-License-Identifier: Apache-2.0
/* The program around an emitted network: files in, one inference with libvtadev, files out. */
#include <inttypes.h>

#include "emit.h"

static const char head[] =
"#include <stdio.h>\n"
"#include <stdlib.h>\n"
"\n"
"#include \"model.h\"\n"
"#include \"vtadev.h\"\n"
"\n"
"#define WAIT_NS	(60 * 1000000000ll)\n"
"#define BATCH_MAX	256u\n"
"\n"
"static struct vtadev_queue *queue;\n"
"\n"
"static struct vta_desc descriptor(const struct vtac_command *c)\n"
"{\n"
"	switch (c->kind) {\n"
"	case VTAC_COMMAND_RUN:\n"
"		return vtadev_desc_run(c->src, c->count, 0);\n"
"	case VTAC_COMMAND_FILL:\n"
"		return vtadev_desc_fill(c->dst, c->src, c->count);\n"
"	default:\n"
"		return vtadev_desc_copy2d(c->dst, c->dst_pitch, c->src, c->src_pitch, c->count,\n"
"					  c->rows);\n"
"	}\n"
"}\n"
"\n"
"/* The card's commands as descriptors of libvtadev, one doorbell for all. */\n"
"static int32_t submit(void *card, const struct vtac_command *commands, uint32_t count)\n"
"{\n"
"	static struct vta_desc work[BATCH_MAX];\n"
"	uint64_t seq;\n"
"	int err;\n"
"\n"
"	if (count > BATCH_MAX)\n"
"		return -1;\n"
"	for (uint32_t i = 0; i < count; i++)\n"
"		work[i] = descriptor(&commands[i]);\n"
"	err = vtadev_submit(card, work, count, &seq);\n"
"	return err ? err : vtadev_wait(card, seq, WAIT_NS);\n"
"}\n"
"\n"
"static int give_up(const char *what, int err)\n"
"{\n"
"	fprintf(stderr, \"%s: %s\\n\", what, err ? vtadev_strerror(err) : \"failed\");\n"
"	return 1;\n"
"}\n"
"\n"
"static int transfer(const char *path, const char *mode, void *data, size_t bytes)\n"
"{\n"
"	FILE *file = fopen(path, mode);\n"
"	size_t done = 0;\n"
"\n"
"	if (file)\n"
"		done = *mode == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);\n"
"	return !file || fclose(file) || done != bytes;\n"
"}\n\n";

static void put_files(FILE *f, const struct vtaimage *image, const struct vtac_c_name *tensor,
		      enum vtaimage_role role, unsigned int *argument)
{
	struct vtaimage_tensor t;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (!vtac_emit_is(&t, role))
			continue;
		fprintf(f, "\tif (transfer(argv[%u], \"%s\", %s, sizeof(%s)))\n"
			"\t\treturn give_up(argv[%u], 0);\n", *argument,
			role == VTAIMAGE_INPUT ? "rb" : "wb", tensor[i].text,
			tensor[i].text, *argument);
		++*argument;
	}
}

static void put_members(FILE *f, const struct vtaimage *image, const struct vtac_c_name *tensor,
			enum vtaimage_role role)
{
	struct vtaimage_tensor t;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (vtac_emit_is(&t, role))
			fprintf(f, " .%s = (void *)%s,", tensor[i].text,
				tensor[i].text);
	}
}

static const char start[] =
"	if (vtadev_open(NULL, &dev)) {\n"
"		vtadev_open_text(NULL, why, sizeof(why));\n"
"		fprintf(stderr, \"%%s\\n\", why);\n"
"		return 1;\n"
"	}\n"
"	if (vtadev_info(dev)->log_block != %s_LOG_BLOCK ||\n"
"	    vtadev_info(dev)->log_batch != %s_LOG_BATCH ||\n"
"	    vtadev_info(dev)->log_inp_width != %s_LOG_INP_WIDTH ||\n"
"	    vtadev_info(dev)->log_wgt_width != %s_LOG_WGT_WIDTH ||\n"
"	    vtadev_info(dev)->log_uop_buff_size != %s_LOG_UOP_BUFF_SIZE ||\n"
"	    vtadev_info(dev)->log_inp_buff_size != %s_LOG_INP_BUFF_SIZE ||\n"
"	    vtadev_info(dev)->log_wgt_buff_size != %s_LOG_WGT_BUFF_SIZE ||\n"
"	    vtadev_info(dev)->log_acc_buff_size != %s_LOG_ACC_BUFF_SIZE)\n"
"		return give_up(\"the card has another configuration\", 0);\n"
"	err = vtadev_queue_create(dev, &options, &queue);\n";

static const char memory[] =
"	if (!err && %s_%s_SIZE)\n"
"		err = vtadev_buf_alloc_at(dev, %s_%s_SIZE, %s, 0, %s_%s_ADDR,\n"
"					  &%s);\n";

static void put_memory(FILE *f, const char *upper, const char *kind, const char *where,
		       const char *buf)
{
	fprintf(f, memory, upper, kind, upper, kind, where, upper, kind, buf);
}

void vtac_emit_main(FILE *f, const char *name, const char *upper,
		    const struct vtaimage *image, const struct vtac_c_name *tensor)
{
	unsigned int arguments = 1;
	struct vtaimage_tensor t;

	fprintf(f, "/*\n * Network %s on a VTA card, once: files with the inputs' values, then "
		"files for the\n * outputs', in the order of model.h. Made by vtac, as a start.\n"
		" */\n", name);
	fputs(head, f);
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (t.role == VTAIMAGE_INTERNAL)
			continue;
		fprintf(f, "static uint8_t %s[%" PRIu32 "] __attribute__((aligned(64)));\n",
			tensor[i].text, t.bytes);
		arguments++;
	}
	fprintf(f, "\nint main(int argc, char **argv)\n{\n"
		"\tstruct vtadev_buf *model = NULL, *arena = NULL, *host = NULL;\n"
		"\tconst struct %s_inputs inputs = {", name);
	put_members(f, image, tensor, VTAIMAGE_INPUT);
	fprintf(f, " };\n\tconst struct %s_outputs outputs = {", name);
	put_members(f, image, tensor, VTAIMAGE_OUTPUT);
	fprintf(f, " };\n\tstruct %s_workspace workspace = { NULL };\n"
		"\tstruct %s_devices devices = { NULL, submit };\n"
		"\tconst struct vtadev_queue_opts options = { .ring_entries = BATCH_MAX };\n"
		"\tchar why[VTADEV_OPEN_TEXT_MAX];\n"
		"\tstruct vtadev *dev = NULL;\n\tint err;\n\n", name, name);
	fprintf(f, "\tif (argc != %u)\n"
		"\t\treturn give_up(\"a file for each input and output\", 0);\n", arguments);
	arguments = 1;
	put_files(f, image, tensor, VTAIMAGE_INPUT, &arguments);
	fprintf(f, start, upper, upper, upper, upper, upper, upper, upper, upper);
	put_memory(f, upper, "MODEL", "VTADEV_CARD", "model");
	put_memory(f, upper, "ARENA", "VTADEV_CARD", "arena");
	put_memory(f, upper, "WORKSPACE", "VTADEV_HOST", "host");
	fprintf(f, "\tif (!err && host)\n\t\terr = vtadev_buf_map(host, &workspace.memory);\n"
		"\tif (!err && model)\n\t\terr = vtadev_upload(queue, model, 0, %s_model, "
		"%s_MODEL_SIZE);\n\tdevices.card = queue;\n\tif (!err)\n"
		"\t\terr = %s_run(&inputs, &outputs, &workspace, &devices);\n"
		"\tif (err)\n\t\treturn give_up(\"%s\", err);\n", name, upper, name, name);
	put_files(f, image, tensor, VTAIMAGE_OUTPUT, &arguments);
	fputs("\tvtadev_queue_destroy(queue);\n\tvtadev_buf_free(host);\n"
	      "\tvtadev_buf_free(arena);\n\tvtadev_buf_free(model);\n"
	      "\tvtadev_close(dev);\n\treturn 0;\n}\n", f);
}

void vtac_emit_makefile(FILE *f)
{
	fputs("# model.o needs no operating system; main is a program for Linux with libvtaprog.\n"
	      "# INCLUDES and LIBS find an installed libvtaprog, if they are not given.\n"
	      "INCLUDES ?= $(shell pkg-config --cflags vtaprog)\n"
	      "LIBS ?= $(shell pkg-config --libs vtaprog)\n"
	      "CFLAGS ?= -O2 -Wall -Wextra\n\n"
	      "main: model.o main.o\n\t$(CC) $(LDFLAGS) -Wl,--gc-sections -o $@ $^ $(LIBS)\n\n"
	      "model.o: model.c model.h weights.h\n"
	      "\t$(CC) $(CFLAGS) -std=c11 -ffreestanding $(INCLUDES) -c -o $@ model.c\n\n"
	      "main.o: main.c model.h\n"
	      "\t$(CC) $(CFLAGS) -std=gnu11 $(INCLUDES) -c -o $@ main.c\n\n"
	      ".PHONY: clean\nclean:\n\trm -f main *.o\n", f);
}
