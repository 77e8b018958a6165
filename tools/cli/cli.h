/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * cli.h - command lines of programs: verbs, options, wrong usage
 *
 * A program's help text is the table of its options. A line that begins with
 * "  -x, --name=ARG", or without a letter "      --name=ARG", declares an option; with "[=ARG]" the
 * argument is optional, and without "=" there is none. If the argument is one of some words, the
 * option's text ends in them: ": auto, no or half". Completion (completion.bash, completion.zsh)
 * reads the same text. Not thread-safe: a program has one command line.
 */
#ifndef VTA_CLI_H
#define VTA_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CLI_GO		= -1,	/* the program shall continue */
	CLI_OK		= 0,
	CLI_ERROR	= 1,
	CLI_USAGE	= 2,
};

/* Values of cli_options()' @operands beside numbers. */
#define CLI_ANY		INT_MAX
#define CLI_COMMAND	(-1)	/* the first operand and all after it are a command */

/**
 * struct cli_option - the destination of an option's value
 * @name: as the help text declares it
 * @set: sets @to by the argument, NULL if there is none; CLI_OK, or an exit status to end with
 * @to: the destination
 * @size: bytes of an integer at @to
 * @min: least number
 * @max: greatest number
 * @given: set to true if the option is given, or NULL
 */
struct cli_option {
	const char *name;
	int (*set)(const struct cli_option *option, char *text);
	void *to;
	size_t size;
	uint64_t min, max;
	bool *given;
};

/* Initialise a struct cli_option; the type of @dest is checked. */
#define CLI_FLAG(option, dest) .name = (option), .given = (dest)
#define CLI_TEXT(option, dest) \
	.name = (option), .set = cli_set_text, .to = 1 ? (dest) : (const char **)NULL
#define CLI_NUMBER(option, dest, least, most) \
	.name = (option), .set = cli_set_number, .to = (dest), .size = sizeof(*(dest)), \
	.min = (least), .max = (most)
/* An enumeration or integer of 32 bits: the index of the word in the help text. */
#define CLI_WORD(option, dest) \
	.name = (option), .set = cli_set_word, .to = (dest), .size = sizeof(*(dest))

int cli_set_text(const struct cli_option *option, char *text);
int cli_set_number(const struct cli_option *option, char *text);
int cli_set_word(const struct cli_option *option, char *text);

/**
 * cli_options() - take the options of a command line
 * @help: the help text
 * @options: a destination for each option of @help but --help; ends with an empty one
 * @operands: at most so many operands, or CLI_ANY, CLI_COMMAND
 * @argc: number of arguments, with the program's or verb's name; becomes that of operands
 * @argv: the arguments, which are reordered; becomes the operands
 *
 * Returns CLI_GO, or the exit status to end with: --help was printed, or the usage is wrong.
 */
int cli_options(const char *help, const struct cli_option *options, int operands, int *argc,
		char ***argv);

/* Whole numbers, decimal or with 0x; false if @text is none from @min to @max. */
bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Prints "PROGRAM: VERB: " with the message, and which help to read; returns CLI_USAGE. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints that @word is none of @words, which end with NULL, and the nearest; returns CLI_USAGE. */
int cli_no_word(const char *word, const char *const words[]);

/**
 * cli_begin() - begin a program, before it opens anything
 * @program: its name, for messages
 *
 * Reserves the descriptors of standard input, output and error: of a file opened in place of one
 * that is closed, messages would become a part. A write beyond a limit fails instead of ending the
 * program, so that it can be reported.
 */
void cli_begin(const char *program);
/* Closes stdout. Returns @status, or CLI_ERROR with a message if not all of it was written. */
int cli_end(int status);
/* "PROGRAM: VERB", to begin messages with. */
const char *cli_name(void);

/* A verb's main(): argv[0] is its name; returns an exit status. */
typedef int cli_verb_fn(int argc, char **argv);

struct cli_verb {
	const char *name;
	cli_verb_fn *main;
	const char *help;	/* one line */
};

struct cli_program {
	const char *name, *version;
	const char *help;		/* before the list of verbs */
	const char *exit_status;	/* after it */
	const struct cli_verb *verbs;	/* ends with an empty one */
};

/* main() of a program with verbs. --help-all prints all help texts, for its manual page. */
int cli_main(const struct cli_program *program, int argc, char **argv);

#endif /* VTA_CLI_H */
