// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * cli.c - command lines of programs: verbs, options, wrong usage
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define OPTIONS_MAX	64
#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyz0123456789-"

/* ---- Messages ---- */

static const char *program_name = "", *verb_name;

static const char *joined(const char *separator)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s%s", program_name, verb_name ? separator : "",
		 verb_name ? verb_name : "");
	return text;
}

const char *cli_name(void)
{
	return joined(": ");
}

int cli_usage(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", cli_name());
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; try %s --help\n", joined(" "));
	return CLI_USAGE;
}

/* ---- The help text as a table ---- */

/* An option that a line of the help text declares. */
struct declared {
	char name[24];
	char letter;		/* or 0 */
	int argument;		/* as in struct option */
	const char *line;
};

static struct declared table[OPTIONS_MAX];
static int table_size;

/* Reads "  -x, --name[=ARG]"; false if @line does not begin so. */
static bool read_line(const char *line, struct declared *d)
{
	const char *name;
	size_t len;

	*d = (struct declared){ .line = line };
	if (!strncmp(line, "  -", 3) && line[3] && !strncmp(line + 4, ", --", 4))
		d->letter = line[3];
	else if (strncmp(line, "      --", 8))
		return false;
	name = line + 8;
	len = strspn(name, NAME_CHARS);
	assert(len && len < sizeof(d->name));
	memcpy(d->name, name, len);
	d->argument = name[len] == '=' ? required_argument : name[len] == '[' ? optional_argument :
		no_argument;
	return true;
}

static void read_table(const char *help)
{
	table_size = 0;
	for (const char *line = help; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		assert(table_size < OPTIONS_MAX);
		table_size += read_line(line, &table[table_size]);
	}
}

static const struct declared *find_declared(const char *name)
{
	int i = 0;

	while (i < table_size && strcmp(table[i].name, name))
		i++;
	return i < table_size ? &table[i] : NULL;
}

/* The list of words after the last ": " of the option's text. */
static const char *find_words(const struct declared *d)
{
	const char *end = d == &table[table_size - 1] ? d->line + strlen(d->line) : d[1].line;
	const char *blank = strstr(d->line, "\n\n"), *at = d->line, *words = NULL;

	if (blank && blank < end)
		end = blank;
	while ((at = strstr(at, ": ")) && at < end)
		words = at += 2;
	assert(words);
	return words;
}

/* ---- Near names ---- */

struct near {
	const char *word;
	size_t len;
	const char *name;	/* the nearest one so far, or NULL */
	size_t distance;
};

/* A word that is mistyped has at most so many letters added, left out or changed. */
#define NEAR_MAX	2

static struct near near_begin(const char *word)
{
	return (struct near){ .word = word, .len = strcspn(word, "="), .distance = NEAR_MAX + 1 };
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The edit distance of Levenshtein. */
static size_t distance(const char *word, size_t len, const char *name)
{
	size_t row[sizeof(table->name) + NEAR_MAX + 1];

	for (size_t i = 0; i <= len; i++)
		row[i] = i;
	for (size_t j = 1; name[j - 1]; j++) {
		size_t before = row[0];

		row[0] = j;
		for (size_t i = 1; i <= len; i++) {
			size_t changed = before + (word[i - 1] != name[j - 1]);

			before = row[i];
			row[i] = least(changed, least(before, row[i - 1]) + 1);
		}
	}
	return row[len];
}

static void near_compare(struct near *near, const char *name)
{
	size_t now = near->len < sizeof(table->name) + NEAR_MAX ?
		     distance(near->word, near->len, name) : NEAR_MAX + 1;

	if (now < near->distance && now < near->len) {
		near->distance = now;
		near->name = name;
	}
}

static int unknown(const char *what, const char *word, const char *dashes, const char *name)
{
	if (!name)
		return cli_usage("%s: %s", what, word);
	return cli_usage("%s: %s (did you mean %s%s?)", what, word, dashes, name);
}

int cli_no_word(const char *word, const char *const words[])
{
	struct near near = near_begin(word);

	for (; *words; words++)
		near_compare(&near, *words);
	return unknown("no such word", word, "", near.name);
}

/* ---- Values ---- */

static void store(const struct cli_option *option, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	assert(option->size == sizeof(narrow) || option->size == sizeof(value));
	memcpy(option->to, option->size == sizeof(narrow) ? (void *)&narrow : &value,
	       option->size);
}

int cli_set_text(const struct cli_option *option, char *text)
{
	*(const char **)option->to = text;
	return CLI_OK;
}

bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
	return *text >= '0' && *text <= '9' && !*end && !errno && *value >= min && *value <= max;
}

int cli_set_number(const struct cli_option *option, char *text)
{
	uint64_t value;

	if (!cli_number(text, option->min, option->max, &value))
		return cli_usage("--%s wants a number from %llu to %llu, not '%s'", option->name,
				 (unsigned long long)option->min,
				 (unsigned long long)option->max, text);
	store(option, value);
	return CLI_OK;
}

int cli_set_word(const struct cli_option *option, char *text)
{
	const char *words = find_words(find_declared(option->name)), *at = words;
	size_t len, separator = 1;

	for (uint64_t i = 0; separator; i++) {
		len = strspn(at, NAME_CHARS);
		if (len == strlen(text) && !strncmp(at, text, len)) {
			store(option, i);
			return CLI_OK;
		}
		at += len;
		separator = !strncmp(at, ", ", 2) ? 2 : !strncmp(at, " or ", 4) ? 4 : 0;
		at += separator;
	}
	return cli_usage("--%s wants %.*s, not '%s'", option->name, (int)(at - words), words, text);
}

/* ---- Options ---- */

static const struct cli_option *find_option(const struct cli_option *options, const char *name)
{
	while (options->name && strcmp(options->name, name))
		options++;
	return options->name ? options : NULL;
}

/* The help text and the destinations have the same options. */
static void check_options(const struct cli_option *options)
{
	for (int i = 0; i < table_size; i++)
		assert(!strcmp(table[i].name, "help") || find_option(options, table[i].name));
	for (; options->name; options++)
		assert(find_declared(options->name));
}

/* A long option's value for getopt_long() is its index in the table and this. */
#define LONG	0x100

static void fill_getopt(struct option longs[OPTIONS_MAX + 1], char *letters)
{
	for (int i = 0; i < table_size; i++) {
		longs[i] = (struct option){ table[i].name, table[i].argument, NULL, LONG + i };
		if (table[i].letter)
			letters += sprintf(letters, "%c%.*s", table[i].letter, table[i].argument,
					   "::");
	}
	longs[table_size] = (struct option){ 0 };
}

static const struct declared *find_value(int value)
{
	int i = value - LONG;

	if (i < 0)
		for (i = 0; table[i].letter != value; i++)
			;
	return &table[i];
}

static int set_option(const struct cli_option *option, char *text)
{
	if (option->given)
		*option->given = true;
	return option->set ? option->set(option, text) : CLI_OK;
}

static int print_help(const char *help)
{
	return fputs(help, stdout) < 0 ? CLI_ERROR : CLI_OK;
}

static int wrong_option(const char *word)
{
	struct near near = near_begin(strncmp(word, "--", 2) ? "" : word + 2);

	for (int i = 0; i < table_size; i++)
		near_compare(&near, table[i].name);
	return unknown("wrong option", word, "--", near.name);
}

int cli_options(const char *help, const struct cli_option *options, int operands, int *argc,
		char ***argv)
{
	/* ":": getopt_long() prints nothing, and separates missing arguments from wrong options. */
	char letters[3 * OPTIONS_MAX + 3] = "+:";
	struct option longs[OPTIONS_MAX + 1];
	int value, ret = CLI_OK;

	read_table(help);
	check_options(options);
	fill_getopt(longs, letters + 2);
	optind = 0;
	while (!ret && (value = getopt_long(*argc, *argv, letters + (operands != CLI_COMMAND),
					    longs, NULL)) != -1) {
		const struct declared *d;

		if (value == ':')
			return cli_usage("this option takes an argument: %s", (*argv)[optind - 1]);
		if (value == '?')
			return wrong_option((*argv)[optind - 1]);
		d = find_value(value);
		if (!strcmp(d->name, "help"))
			return print_help(help);
		ret = set_option(find_option(options, d->name), optarg);
	}
	if (ret)
		return ret;
	*argc -= optind;
	*argv += optind;
	if (operands != CLI_COMMAND && *argc > operands)
		return cli_usage("too much: %s", (*argv)[operands]);
	return CLI_GO;
}

/* ---- Verbs ---- */

static int print_program_help(const struct cli_program *program)
{
	print_help(program->help);
	for (const struct cli_verb *verb = program->verbs; verb->name; verb++)
		printf("  %-8s  %s\n", verb->name, verb->help);
	return print_help(program->exit_status);
}

static int print_all_help(const struct cli_program *program)
{
	print_program_help(program);
	for (const struct cli_verb *verb = program->verbs; verb->name; verb++) {
		char name[16], option[] = "--help";

		snprintf(name, sizeof(name), "%s", verb->name);
		printf("\n%s %s:\n", program->name, name);
		verb->main(2, (char *[]){ name, option, NULL });
	}
	return CLI_OK;
}

static int no_such(const struct cli_program *program, const char *name)
{
	struct near near = near_begin(name);

	for (const struct cli_verb *verb = program->verbs; verb->name; verb++)
		near_compare(&near, verb->name);
	return unknown(*name == '-' ? "no such option" : "no such verb", name, "", near.name);
}

static int run_verb(const struct cli_program *program, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return cli_usage("name a verb");
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return print_program_help(program);
	if (!strcmp(name, "--help-all"))
		return print_all_help(program);
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return printf("%s %s\n", program->name, program->version) < 0 ? CLI_ERROR : CLI_OK;
	for (const struct cli_verb *verb = program->verbs; verb->name; verb++)
		if (!strcmp(name, verb->name)) {
			verb_name = verb->name;
			return verb->main(argc - 1, argv + 1);
		}
	return no_such(program, name);
}

int cli_main(const struct cli_program *program, int argc, char **argv)
{
	cli_begin(program->name);
	return cli_end(run_verb(program, argc, argv));
}

/* ---- Beginning and end ---- */

void cli_begin(const char *program)
{
	int fd;

	program_name = program;
	signal(SIGXFSZ, SIG_IGN);
	/* The lowest that is free; nothing can be read from it or written to it. */
	do {
		fd = open("/", O_PATH);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int cli_end(int status)
{
	bool bad = ferror(stdout), failed = fclose(stdout);

	if (!bad && !failed)
		return status;
	/* The reason of an earlier write is not known. */
	fprintf(stderr, "%s: standard output: %s\n", cli_name(),
		failed ? strerror(errno) : "not all of it was written");
	return status ? status : CLI_ERROR;
}
