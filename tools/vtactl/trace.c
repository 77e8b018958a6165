// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace.c - vtactl trace: record the driver, and the descriptors of a command
 */
#include <errno.h>
#include <glob.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "output.h"
#include "tracefs.h"

#define OUTPUT_DEFAULT	"vta-trace.json"
#define SECONDS_MAX	86400

struct request {
	const char *output;
	unsigned int seconds;	/* 0: until interrupted, or the command ends */
	char **command;		/* NULL: none */
};

static const char help[] =
	"Usage: vtactl trace [--output=FILE] [--duration=SECONDS]\n"
	"  or:  vtactl trace [--output=FILE] -- COMMAND [ARG]...\n"
	"\n"
	"Records what the driver does for all programs (contexts, buffers, queues, waits,\n"
	"faults, resets; this part needs root) and, if COMMAND uses libvtadev, when each of\n"
	"COMMAND's descriptors ran. Records until COMMAND ends, for SECONDS, or until\n"
	"interrupted. Open FILE in https://ui.perfetto.dev or chrome://tracing;\n"
	"docs/operating.md describes its contents.\n"
	"\n"
	"  -d, --duration=SECONDS  record for SECONDS, 1 to 86400\n"
	"  -o, --output=FILE       write to FILE, - for standard output (" OUTPUT_DEFAULT ")\n"
	"  -h, --help              print this text\n"
	"\n"
	"The exit status is that of COMMAND; without COMMAND 0 done, 1 an error, 2 wrong usage.\n";

static int parse(int argc, char **argv, struct request *r)
{
	const struct cli_option options[] = {
		{ CLI_NUMBER("duration", &r->seconds, 1, SECONDS_MAX) },
		{ CLI_TEXT("output", &r->output) },
		{ 0 },
	};
	int ret = cli_options(help, options, CLI_COMMAND, &argc, &argv);

	if (ret != CLI_GO)
		return ret;
	if (argc && r->seconds)
		return cli_usage("--duration is for recording without a command");
	r->command = argc ? argv : NULL;
	return CLI_GO;
}

/* ---- Recording ---- */

/* Signals that end a recording; blocked until all is cleaned up. */
static sigset_t ending;

static void block_signals(void)
{
	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(SIG_BLOCK, &ending, NULL);
}

/* Sleeps until the time is over or a signal ends the recording. */
static void wait_for_end(unsigned int seconds)
{
	struct timespec time = { .tv_sec = seconds };

	while (sigtimedwait(&ending, NULL, seconds ? &time : NULL) < 0 && errno == EINTR)
		;
}

/*
 * A signal that ends the recording also ends the command, unless the terminal has sent it to
 * both.
 */
static int wait_for_command(pid_t pid, int *status)
{
	sigset_t set = ending;

	sigaddset(&set, SIGCHLD);
	for (;;) {
		pid_t done = waitpid(pid, status, WNOHANG);
		int sig;

		if (done)
			return done < 0 ? -errno : 0;
		sig = sigwaitinfo(&set, NULL);
		if (sig == SIGTERM || sig == SIGHUP)
			kill(pid, sig);
	}
}

/* Runs the command, which records to files in @dir; returns its exit status. */
static int run_command(char **command, const char *dir)
{
	sigset_t child, before;
	char pattern[128];
	int status, err;
	pid_t pid;

	snprintf(pattern, sizeof(pattern), "%s/%%p.json", dir);
	fflush(NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	sigdelset(&before, SIGINT);
	sigdelset(&before, SIGTERM);
	sigdelset(&before, SIGHUP);
	pid = fork();
	if (pid < 0)
		return ctl_fail("fork", strerror(errno));
	if (!pid) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		signal(SIGXFSZ, SIG_DFL);
		setenv("VTADEV_TRACE", pattern, 1);
		execvp(command[0], command);
		err = errno;
		ctl_fail(command[0], strerror(err));
		_exit(err == ENOENT ? 127 : 126);
	}
	err = wait_for_command(pid, &status);
	if (err)
		return ctl_fail("waiting for the command", strerror(-err));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void remove_dir(const char *dir)
{
	char pattern[128];
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/*", dir);
	if (!glob(pattern, 0, NULL, &files)) {
		for (size_t i = 0; i < files.gl_pathc; i++)
			unlink(files.gl_pathv[i]);
		globfree(&files);
	}
	rmdir(dir);
}

static void write_trace(FILE *file, struct json_object *trace)
{
	fputs(json_object_to_json_string_ext(trace, JSON_C_TO_STRING_NOSLASHESCAPE), file);
	fputc('\n', file);
}

/* @written becomes true if there is a trace, whatever the status is. */
static int trace_to(FILE *file, const struct request *r, bool *written)
{
	char dir[] = "/tmp/vtactl-trace-XXXXXX";
	struct json_object *events, *trace;
	uint64_t lost = 0;
	const char *what;
	int err, ret = CTL_OK;

	if (!mkdtemp(dir))
		return ctl_fail(dir, strerror(errno));
	err = tracefs_start(&what);
	if (err) {
		fprintf(stderr, "vtactl: trace: %s: %s%s\n", what, strerror(-err),
			r->command ? "; only the command's descriptors are recorded" : "");
		ret = r->command ? CTL_OK : CTL_ERROR;
	}
	if (r->command)
		ret = run_command(r->command, dir);
	else if (!err)
		wait_for_end(r->seconds);
	events = json_object_new_array();
	tracefs_stop(events, &lost);
	trace = merge(events, lost, dir);
	remove_dir(dir);
	*written = r->command || !err;
	write_trace(file, trace);
	json_object_put(trace);
	return ret;
}

int trace_main(int argc, char **argv)
{
	struct request r = { .output = OUTPUT_DEFAULT };
	int ret = parse(argc, argv, &r), err;
	bool written = false;
	struct output out;

	if (ret != CLI_GO)
		return ret;
	/* Open first: the command runs only if its trace can be written. */
	err = output_open(&out, r.output, 0666);
	if (err)
		return ctl_written(r.output, err);
	block_signals();
	ret = trace_to(out.file, &r, &written);
	if (written)
		err = output_close(&out);
	else
		output_cancel(&out);
	err = ctl_written(r.output, err);
	return ret ? ret : err;
}
