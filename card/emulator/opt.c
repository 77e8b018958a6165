// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options are a table; what each takes is checked here and nowhere else.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/clock.h"
#include "opt.h"
#include "vfu/pci.h"
#include "vta.h"

#ifndef VTA_EMU_VERSION
#define VTA_EMU_VERSION "unknown"
#endif

#define MEM_DEFAULT		(256ull << 20)
#define QUEUES_DEFAULT		64
#define CLOCK_KHZ_DEFAULT	100000
#define SERIAL_DEFAULT		1

static const char usage[] =
"Usage: vta-emu --socket PATH [options]\n"
"An emulated VTA card. It serves one vfio-user client, such as QEMU's vfio-user-pci.\n"
"\n"
"  --socket PATH      unix socket to serve the card on\n"
"  --control PATH     unix socket for one-line requests; the request help lists them\n"
"  --stay             when the client has gone, serve the next one instead of ending\n"
"\n"
"The card:\n"
"  --config FILE      the core's configuration, a vta_config.json as TVM writes it\n"
"  --mem SIZE         card memory, a power of two from 1M to 1024G (256M)\n"
"  --queues N         1 to 256 (64)\n"
"  --contexts N       1 to 256 (as many as queues)\n"
"  --msix N           MSI-X vectors, 0 to 257, 0 for none (one more than queues)\n"
"  --msi N            MSI messages, a power of two up to 32, or 0 for none (32)\n"
"  --clock-khz N      clock of the engines and of cycle counters, in kHz (100000)\n"
"  --serial N         serial number (1)\n"
"  --sensors MK,MW    have sensors, which read MK millikelvin and MW milliwatts (none)\n"
"  --order ORDER      how the core's modules take turns: inorder, greedy, random (inorder)\n"
"  --seed N           seed of --order random (0)\n"
"  --time TIME        duration of a descriptor (real). real: as long as the emulator\n"
"                     takes; model: its cycles at the clock; model:N: the same, and\n"
"                     card time passes N times slower than the host's, N up to 1000000\n"
"\n"
"  --log-level LEVEL  error, warn, info or debug (warn)\n"
"  --counters         print the debug counters at the end\n"
"  --help, --version\n"
"\n"
"Numbers may be hexadecimal, with 0x. Sizes may end in K, M or G.\n";

static bool bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static bool bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("vta-emu: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return false;
}

/* A whole number with nothing but @suffixes behind it; false otherwise. */
static bool parse(const char *arg, const char *suffixes, uint64_t *val)
{
	unsigned int shift = 0;
	const char *suffix;
	char *end;

	if (arg[0] < '0' || arg[0] > '9')
		return false;
	errno = 0;
	*val = strtoull(arg, &end, 0);
	if (errno)
		return false;
	if (*end) {
		suffix = strchr(suffixes, *end);
		if (!suffix || end[1])
			return false;
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
	}
	if (*val << shift >> shift != *val)
		return false;
	*val <<= shift;
	return true;
}

static bool parse_number(const char *name, const char *arg, uint64_t min, uint64_t max,
			 uint64_t *val)
{
	if (parse(arg, "", val) && *val >= min && *val <= max)
		return true;
	return bad("--%s wants a number from %llu to %llu, not '%s'", name,
		   (unsigned long long)min, (unsigned long long)max, arg);
}

static bool is_power_of_two(uint64_t val)
{
	return val && !(val & (val - 1));
}

static bool parse_mem(struct options *opt, const char *arg)
{
	uint64_t size;

	if (!parse(arg, "KMG", &size) || !is_power_of_two(size) || size < CARD_MEM_MIN ||
	    size > CARD_MEM_MAX)
		return bad("--mem wants a power of two from 1M to 1024G, not '%s'", arg);
	opt->card.mem_size = size;
	return true;
}

static bool parse_msi(struct options *opt, const char *arg)
{
	uint64_t val;

	if (!parse(arg, "", &val) || val > PCI_MSI_MAX || (val && !is_power_of_two(val)))
		return bad("--msi wants 0 or a power of two up to %u, not '%s'", PCI_MSI_MAX, arg);
	opt->msi = (unsigned int)val;
	return true;
}

static bool parse_order(struct options *opt, const char *arg)
{
	if (!strcmp(arg, "inorder"))
		opt->card.order = CORE_ORDER_INORDER;
	else if (!strcmp(arg, "greedy"))
		opt->card.order = CORE_ORDER_GREEDY;
	else if (!strcmp(arg, "random"))
		opt->card.order = CORE_ORDER_RANDOM;
	else
		return bad("--order wants inorder, greedy or random, not '%s'", arg);
	return true;
}

static bool parse_time(struct options *opt, const char *arg)
{
	static const char scaled[] = "model:";
	const size_t len = sizeof(scaled) - 1;
	uint64_t slowness = 1;
	bool ok = true;

	if (!strcmp(arg, "real"))
		slowness = 0;
	else if (!strncmp(arg, scaled, len))
		ok = parse(arg + len, "", &slowness) && slowness >= 1 &&
		     slowness <= CLOCK_SLOWNESS_MAX;
	else
		ok = !strcmp(arg, "model");
	if (!ok)
		return bad("--time wants real, model or model:N with N from 1 to %u, not '%s'",
			   CLOCK_SLOWNESS_MAX, arg);
	opt->card.slowness = (unsigned int)slowness;
	return true;
}

static bool parse_sensors(struct options *opt, const char *arg)
{
	uint64_t temperature, power;
	char *comma, first[32];

	snprintf(first, sizeof(first), "%s", arg);
	comma = strchr(first, ',');
	if (comma)
		*comma = '\0';
	/* All ones would read as a card that is gone. */
	if (!comma || !parse(first, "", &temperature) || !temperature ||
	    temperature >= UINT32_MAX || !parse(strchr(arg, ',') + 1, "", &power) ||
	    power >= UINT32_MAX)
		return bad("--sensors wants millikelvins and milliwatts, as 318150,12500, not '%s'",
			   arg);
	opt->card.temperature = (uint32_t)temperature;
	opt->card.power = (uint32_t)power;
	return true;
}

static bool parse_config(struct options *opt, const char *arg)
{
	char err[256];

	if (core_config_load(&opt->card.core, arg, err, sizeof(err)))
		return bad("--config %s: %s", arg, err);
	return true;
}

enum {
	OPT_SOCKET = 1, OPT_CONTROL, OPT_CONFIG, OPT_MEM, OPT_QUEUES, OPT_CONTEXTS, OPT_MSIX,
	OPT_MSI, OPT_ORDER, OPT_SEED, OPT_SERIAL, OPT_CLOCK_KHZ, OPT_LOG_LEVEL, OPT_COUNTERS,
	OPT_STAY, OPT_TIME, OPT_SENSORS, OPT_HELP, OPT_VERSION,
};

static const struct option longopts[] = {
	{ "socket",	required_argument, NULL, OPT_SOCKET },
	{ "control",	required_argument, NULL, OPT_CONTROL },
	{ "config",	required_argument, NULL, OPT_CONFIG },
	{ "mem",	required_argument, NULL, OPT_MEM },
	{ "queues",	required_argument, NULL, OPT_QUEUES },
	{ "contexts",	required_argument, NULL, OPT_CONTEXTS },
	{ "msix",	required_argument, NULL, OPT_MSIX },
	{ "msi",	required_argument, NULL, OPT_MSI },
	{ "order",	required_argument, NULL, OPT_ORDER },
	{ "seed",	required_argument, NULL, OPT_SEED },
	{ "time",	required_argument, NULL, OPT_TIME },
	{ "serial",	required_argument, NULL, OPT_SERIAL },
	{ "sensors",	required_argument, NULL, OPT_SENSORS },
	{ "clock-khz",	required_argument, NULL, OPT_CLOCK_KHZ },
	{ "log-level",	required_argument, NULL, OPT_LOG_LEVEL },
	{ "counters",	no_argument, NULL, OPT_COUNTERS },
	{ "stay",	no_argument, NULL, OPT_STAY },
	{ "help",	no_argument, NULL, OPT_HELP },
	{ "version",	no_argument, NULL, OPT_VERSION },
	{ 0 },
};

/* What one option says; *msix stays as it is when not told. */
static bool take(struct options *opt, int option, const char *arg, bool *msix_given)
{
	uint64_t val = 0;
	bool ok = true;

	switch (option) {
	case OPT_SOCKET:
		opt->socket = arg;
		break;
	case OPT_CONTROL:
		opt->control = arg;
		break;
	case OPT_CONFIG:
		ok = parse_config(opt, arg);
		break;
	case OPT_MEM:
		ok = parse_mem(opt, arg);
		break;
	case OPT_QUEUES:
		ok = parse_number("queues", arg, 1, VTA_QUEUES_MAX, &val);
		opt->card.queues = (unsigned int)val;
		break;
	case OPT_CONTEXTS:
		ok = parse_number("contexts", arg, 1, VTA_CONTEXTS_MAX, &val);
		opt->card.contexts = (unsigned int)val;
		break;
	case OPT_MSIX:
		ok = parse_number("msix", arg, 0, PCI_MSIX_MAX, &val);
		opt->msix = (unsigned int)val;
		*msix_given = true;
		break;
	case OPT_MSI:
		ok = parse_msi(opt, arg);
		break;
	case OPT_ORDER:
		ok = parse_order(opt, arg);
		break;
	case OPT_SEED:
		ok = parse_number("seed", arg, 0, UINT64_MAX, &opt->card.seed);
		break;
	case OPT_TIME:
		ok = parse_time(opt, arg);
		break;
	case OPT_SERIAL:
		ok = parse_number("serial", arg, 0, UINT64_MAX, &opt->card.serial);
		break;
	case OPT_SENSORS:
		ok = parse_sensors(opt, arg);
		break;
	case OPT_CLOCK_KHZ:
		/* All ones would read as a card that is gone. */
		ok = parse_number("clock-khz", arg, 1, UINT32_MAX - 1, &val);
		opt->card.clock_khz = (uint32_t)val;
		break;
	case OPT_LOG_LEVEL:
		ok = log_level_parse(arg, &opt->log_level) ||
		     bad("--log-level wants error, warn, info or debug, not '%s'", arg);
		break;
	case OPT_COUNTERS:
		opt->counters = true;
		break;
	case OPT_STAY:
		opt->stay = true;
		break;
	default:
		fputs("Try 'vta-emu --help'.\n", stderr);
		ok = false;
		break;
	}
	return ok;
}

enum opt_result opt_parse(struct options *opt, int argc, char **argv)
{
	bool msix_given = false;
	int option;

	*opt = (struct options) {
		.card = {
			.core = core_config_default,
			.mem_size = MEM_DEFAULT,
			.queues = QUEUES_DEFAULT,
			.serial = SERIAL_DEFAULT,
			.clock_khz = CLOCK_KHZ_DEFAULT,
		},
		.msi = PCI_MSI_MAX,
		.log_level = LOG_WARN,
	};
	while ((option = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		if (option == OPT_HELP || option == OPT_VERSION) {
			fputs(option == OPT_HELP ? usage : "vta-emu " VTA_EMU_VERSION "\n",
			      stdout);
			return OPT_EXIT;
		}
		if (!take(opt, option, optarg, &msix_given))
			return OPT_BAD;
	}
	if (optind < argc) {
		bad("'%s' is not an option", argv[optind]);
		return OPT_BAD;
	}
	if (!opt->socket) {
		bad("--socket PATH is required; try 'vta-emu --help'");
		return OPT_BAD;
	}
	if (!opt->card.contexts)
		opt->card.contexts = opt->card.queues;
	if (!msix_given)
		opt->msix = opt->card.queues + 1;
	if (!opt->msix && !opt->msi) {
		bad("--msix 0 and --msi 0 leave the card without interrupts; give it one of them");
		return OPT_BAD;
	}
	return OPT_RUN;
}
