// SPDX-License-Identifier: GPL-2.0-only
/*
 * opt.c - the emulator's command line
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "model/clock.h"
#include "opt.h"
#include "vfu/pci.h"
#include "vta_isa.h"
#include "vta.h"

#ifndef VTA_EMU_VERSION
#define VTA_EMU_VERSION "unknown"
#endif

#define MEM_DEFAULT		(256ull << 20)
#define QUEUES_DEFAULT		64
#define CLOCK_KHZ_DEFAULT	100000
#define SERIAL_DEFAULT		1
#define MODELS			"../rtl"	/* from the program's directory */

static const char help[] =
	"Usage: vta-emu --socket=PATH [OPTION]...\n"
	"\n"
	"An emulated VTA card. It serves one vfio-user client, such as QEMU's vfio-user-pci.\n"
	"\n"
	"      --socket=PATH      unix socket to serve the card on\n"
	"      --control=PATH     unix socket for one-line requests; the request help lists them\n"
	"      --stay             when the client has gone, serve the next one instead of ending\n"
	"\n"
	"The card:\n"
	"      --config=FILE      the core's configuration, a vta_config.json as TVM writes it\n"
	"      --log-tokens=N     log2 of the tokens that each token queue holds, 3 to 16 (16)\n"
	"      --log-waiting=N    log2 of the instructions that wait to begin, 3 to 16 (16)\n"
	"      --core=CORE        soft: the core in C; rtl or rtl:DIR: its RTL, simulated by the model of\n"
	"                         the configuration in DIR, which make rtl builds (soft)\n"
	"      --mem=SIZE         card memory, a power of two from 1M to 1024G, or 0 for none (256M)\n"
	"      --no-kept-state    have no save areas: RUNs with KEEP fault\n"
	"      --queues=N         1 to 256 (64)\n"
	"      --contexts=N       1 to 256 (as many as queues)\n"
	"      --msix=N           MSI-X vectors, 0 to 257, 0 for none (one more than queues)\n"
	"      --msi=N            MSI messages, a power of two up to 32, or 0 for none (32)\n"
	"      --clock-khz=N      clock of the engines and of cycle counters, in kHz (100000)\n"
	"      --serial=N         serial number (1)\n"
	"      --sensors=MK,MW    have sensors, which read MK millikelvin and MW milliwatts (none)\n"
	"      --order=ORDER      how the core's modules take turns: inorder, greedy or random\n"
	"                         (inorder)\n"
	"      --seed=N           seed of --order=random (0)\n"
	"      --posted-writes    do not learn that the host refused a write, as cards on PCIe\n"
	"      --time=TIME        duration of a descriptor (real). real: as long as the emulator\n"
	"                         takes; model: its cycles at the clock; model:N: the same, and\n"
	"                         card time passes N times slower than the host's, N up to 1000000\n"
	"\n"
	"Messages:\n"
	"      --log-level=LEVEL  least level to print: error, warn, info or debug (warn)\n"
	"      --counters         print the debug counters at the end\n"
	"      --version          print the version\n"
	"      --help             print this text\n"
	"\n"
	"Numbers may be hexadecimal, with 0x. Sizes may end in K, M or G.\n";

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

static bool is_power_of_two(uint64_t val)
{
	return val && !(val & (val - 1));
}

/* Without a name, any user of the machine could reach the socket. */
static int set_path(const struct cli_option *option, char *arg)
{
	return *arg ? cli_set_text(option, arg) : cli_usage("--%s wants a path", option->name);
}

static int set_mem(const struct cli_option *option, char *arg)
{
	struct options *opt = option->to;
	uint64_t size;

	if (!parse(arg, "KMG", &size) ||
	    (size && (!is_power_of_two(size) || size < CARD_MEM_MIN || size > CARD_MEM_MAX)))
		return cli_usage("--mem wants 0 or a power of two from 1M to 1024G, not '%s'",
				 arg);
	opt->card.mem_size = size;
	return CLI_OK;
}

static int set_msi(const struct cli_option *option, char *arg)
{
	struct options *opt = option->to;
	uint64_t val;

	if (!parse(arg, "", &val) || val > PCI_MSI_MAX || (val && !is_power_of_two(val)))
		return cli_usage("--msi wants 0 or a power of two up to %u, not '%s'", PCI_MSI_MAX,
				 arg);
	opt->msi = (unsigned int)val;
	return CLI_OK;
}

static int set_time(const struct cli_option *option, char *arg)
{
	struct options *opt = option->to;
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
		return cli_usage("--time wants real, model or model:N with N from 1 to %u, "
				 "not '%s'", CLOCK_SLOWNESS_MAX, arg);
	opt->card.slowness = (unsigned int)slowness;
	return CLI_OK;
}

static int set_sensors(const struct cli_option *option, char *arg)
{
	struct options *opt = option->to;
	uint64_t temperature, power;
	char *comma, first[32];

	snprintf(first, sizeof(first), "%s", arg);
	comma = strchr(first, ',');
	if (comma)
		*comma = '\0';
	if (!comma || !parse(first, "", &temperature) || !temperature ||
	    temperature > UINT32_MAX || !parse(strchr(arg, ',') + 1, "", &power) ||
	    power > UINT32_MAX)
		return cli_usage("--sensors wants millikelvins and milliwatts, as 318150,12500, "
				 "not '%s'", arg);
	opt->card.temperature = (uint32_t)temperature;
	opt->card.power = (uint32_t)power;
	return CLI_OK;
}

static int set_config(const struct cli_option *option, char *arg)
{
	struct options *opt = option->to;
	char err[256];

	if (core_config_load(&opt->card.core, arg, err, sizeof(err)))
		return cli_usage("--config %s: %s", arg, err);
	return CLI_OK;
}

/* The model of the core, if it is not the core in C. */
static int find_model(struct options *opt)
{
	static const char rtl[] = "rtl";
	const char *dir = opt->core + strlen(rtl);
	char err[4096], found[4096], *end;
	ssize_t len;

	if (!strcmp(opt->core, "soft"))
		return CLI_GO;
	if (strncmp(opt->core, rtl, strlen(rtl)) || (*dir && (*dir != ':' || !dir[1])))
		return cli_usage("--core wants soft, rtl or rtl:DIR, not '%s'", opt->core);
	if (*dir) {
		dir++;
	} else {
		/* The build directory has build/tools/vta-emu and build/rtl. */
		len = readlink("/proc/self/exe", found, sizeof(found) - sizeof(MODELS));
		if (len < 0)
			return cli_usage("--core=rtl: %s; name the directory: --core=rtl:DIR",
					 strerror(errno));
		found[len] = '\0';
		end = strrchr(found, '/') + 1;
		snprintf(end, sizeof(found) - (size_t)(end - found), MODELS);
		dir = found;
	}
	opt->card.model = core_model_load(&opt->card.core, dir, err, sizeof(err));
	if (!opt->card.model)
		return cli_usage("--core=rtl: %s", err);
	return CLI_GO;
}

int opt_parse(struct options *opt, int argc, char **argv)
{
	struct card_config *card = &opt->card;
	bool msix_given = false, version = false;
	const struct cli_option options[] = {
		{ .name = "socket", .set = set_path, .to = &opt->socket },
		{ .name = "control", .set = set_path, .to = &opt->control },
		{ CLI_FLAG("stay", &opt->stay) },
		{ .name = "config", .set = set_config, .to = opt },
		{ CLI_NUMBER("log-tokens", &card->core.log_tokens, VTA_ISA_LOG_QUEUE_MIN,
			     VTA_ISA_LOG_QUEUE_MAX) },
		{ CLI_NUMBER("log-waiting", &card->core.log_waiting, VTA_ISA_LOG_QUEUE_MIN,
			     VTA_ISA_LOG_QUEUE_MAX) },
		{ .name = "core", .set = cli_set_text, .to = &opt->core },
		{ .name = "mem", .set = set_mem, .to = opt },
		{ CLI_NUMBER("queues", &card->queues, 1, VTA_QUEUES_MAX) },
		{ CLI_NUMBER("contexts", &card->contexts, 1, VTA_CONTEXTS_MAX) },
		{ CLI_NUMBER("msix", &opt->msix, 0, PCI_MSIX_MAX), .given = &msix_given },
		{ .name = "msi", .set = set_msi, .to = opt },
		{ CLI_NUMBER("clock-khz", &card->clock_khz, 1, UINT32_MAX) },
		{ CLI_NUMBER("serial", &card->serial, 0, UINT64_MAX) },
		{ .name = "sensors", .set = set_sensors, .to = opt },
		{ CLI_WORD("order", &card->order) },
		{ CLI_NUMBER("seed", &card->seed, 0, UINT64_MAX) },
		{ CLI_FLAG("no-kept-state", &card->no_kept_state) },
		{ CLI_FLAG("posted-writes", &card->posted_writes) },
		{ .name = "time", .set = set_time, .to = opt },
		{ CLI_WORD("log-level", &opt->log_level) },
		{ CLI_FLAG("counters", &opt->counters) },
		{ CLI_FLAG("version", &version) },
		{ 0 },
	};
	int ret;

	*opt = (struct options) {
		.card = {
			.core = core_config_default,
			.mem_size = MEM_DEFAULT,
			.queues = QUEUES_DEFAULT,
			.serial = SERIAL_DEFAULT,
			.clock_khz = CLOCK_KHZ_DEFAULT,
		},
		.core = "soft",
		.msi = PCI_MSI_MAX,
		.log_level = LOG_WARN,
	};
	ret = cli_options(help, options, 0, &argc, &argv);
	if (ret != CLI_GO)
		return ret;
	if (version)
		return puts("vta-emu " VTA_EMU_VERSION) < 0 ? CLI_ERROR : CLI_OK;
	if (!opt->socket)
		return cli_usage("--socket=PATH is required");
	if (!card->contexts)
		card->contexts = card->queues;
	if (!msix_given)
		opt->msix = card->queues + 1;
	if (!opt->msix && !opt->msi)
		return cli_usage("--msix=0 and --msi=0 leave the card without interrupts; give it "
				 "one of them");
	return find_model(opt);
}
