// SPDX-License-Identifier: Apache-2.0
/* vtac report: what the compiler wrote into a program about itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "output.h"
#include "report_page.h"

static const char help[] =
	"Usage: vtac report [OPTION]... PROGRAM.vtap\n"
	"\n"
	"Print the compiler's report, which the program contains: which nodes run on the card and\n"
	"which on the CPU, and why; cycles, time and memory bandwidth, and what limits each node;\n"
	"memory; the accuracy if it was measured.\n"
	"\n"
	"  -j, --json             print JSON\n"
	"      --html             write a page for a browser, with the graph and the memory plan;\n"
	"                         of a program for several shapes, for the first\n"
	"  -o, --output=FILE      write to FILE, - for standard output\n"
	"  -h, --help             print this text\n";

enum form { AS_TEXT, AS_JSON, AS_HTML };

struct request {
	const char *program, *output;
	enum form form;
};

/* The text in the page that the report replaces. */
#define PLACE	"@REPORT@"

#define FILE_MAX	(UINT64_C(3) << 30)

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *data = NULL;
	struct stat st;

	if (!f)
		return NULL;
	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX)
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	else
		data = malloc((size_t)st.st_size + 1);
	if (data)
		*size = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	return data;
}

/* Text within a script element: "</script>" in a name does not end it. */
static void write_escaped(FILE *f, const struct vtaimage_chars *text)
{
	for (uint32_t i = 0; i < text->bytes; i++) {
		if (text->text[i] == '<')
			fputs("\\u003c", f);
		else
			fputc(text->text[i], f);
	}
}

static void write_page(FILE *f, const struct vtaimage_chars *text)
{
	const char *end = report_page + sizeof(report_page);
	const char *at = memmem(report_page, sizeof(report_page), PLACE, strlen(PLACE));

	fwrite(report_page, 1, (size_t)(at - report_page), f);
	write_escaped(f, text);
	at += strlen(PLACE);
	fwrite(at, 1, (size_t)(end - at), f);
}

static const struct vtaimage_chars *text_of(const struct request *r, const struct vtaimage *image)
{
	return &image->text[r->form == AS_TEXT ? VTAIMAGE_REPORT : VTAIMAGE_REPORT_JSON];
}

/* The reports of all variants; JSON is an array of them, if there are several. */
static void write_variants(FILE *f, const struct request *r, const struct vtaimage *image)
{
	bool list = r->form == AS_JSON && vtaimage_variants(image) > 1;
	struct vtaimage variant;

	for (uint32_t i = 0; !vtaimage_variant(image, i, &variant); i++) {
		const struct vtaimage_chars *text = text_of(r, &variant);

		fputs(!list ? "" : i ? ",\n" : "[\n", f);
		fwrite(text->text, 1, text->bytes, f);
	}
	fputs(list ? "]\n" : "", f);
}

static int write_report(const struct request *r, const struct vtaimage *image)
{
	const struct vtaimage_chars *text = text_of(r, image);
	struct output out;
	int err;

	if (!text->bytes)
		return cmd_fail(CMD_ERROR, r->program, "no report in it: it was not made by vtac");
	if (output_replaces(r->output, r->program))
		return cmd_fail(CMD_ERROR, r->output, "the output would replace what is read");
	err = output_open(&out, r->output, 0666);
	if (!err) {
		if (r->form == AS_HTML)
			write_page(out.file, text);
		else
			write_variants(out.file, r, image);
		err = output_close(&out);
	}
	return err ? cmd_fail(CMD_ERROR, r->output, strerror(-err)) : CMD_OK;
}

static int report(const struct request *r)
{
	struct vtaimage image;
	size_t size = 0;
	void *data = read_file(r->program, &size);
	int ret;

	if (!data)
		return cmd_fail(CMD_ERROR, r->program, strerror(errno));
	if (vtaimage_open(&image, data, size))
		ret = cmd_fail(CMD_ERROR, r->program, image.why);
	else
		ret = write_report(r, &image);
	free(data);
	return ret;
}

int report_main(int argc, char **argv)
{
	struct request r = { .output = "-" };
	bool json = false, html = false;
	const struct cli_option options[] = {
		{ CLI_FLAG("json", &json) }, { CLI_FLAG("html", &html) },
		{ CLI_TEXT("output", &r.output) }, { 0 },
	};
	int ret = cli_options(help, options, 1, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (!argc)
		return cli_usage("name a program");
	if (json && html)
		return cli_usage("use only one of --json and --html");
	r.program = argv[0];
	r.form = json ? AS_JSON : html ? AS_HTML : AS_TEXT;
	return report(&r);
}
