// SPDX-License-Identifier: Apache-2.0
/*
 * The functions that ONNX Runtime calls by name. A factory lists cards and makes a provider for
 * each session that uses some of them. A card is a device of ONNX Runtime's CPU, as it finds no
 * others: its metadata "device" has the card's name.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <onnxruntime_session_options_config_keys.h>

#include "provider.h"
#include "vtadev.h"
#include "vtaprog.h"

const OrtApi *ort;
const OrtEpApi *ort_ep;

#define CARD_KEY	"device"
#define FALLBACK_KEY	"fallback"
#define RUNS_DEFAULT	32
#define RUNS_MAX	1024

struct provider {
	OrtEp ep;
	struct choice how;
	bool taken;			/* the session has parts */
};

/* ---- errors and the log ---- */

OrtStatus *ort_fail(OrtErrorCode code, const char *format, ...)
{
	char text[1024] = "vta: ";
	va_list args;

	va_start(args, format);
	vsnprintf(text + 5, sizeof(text) - 5, format, args);
	va_end(args);
	return ort->CreateStatus(code, text);
}

OrtStatus *ort_no_memory(void)
{
	return ort_fail(ORT_FAIL, "out of memory");
}

void log_text(const OrtLogger *log, OrtLoggingLevel level, const char *format, ...)
{
	char text[1024];
	OrtStatus *err;
	va_list args;

	if (!log)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err = ort->Logger_LogMessage(log, level, text, __FILE__, __LINE__, __func__);
	if (err)
		ort->ReleaseStatus(err);
}

/* ---- the provider of a session ---- */

static const char *ORT_API_CALL provider_name(const OrtEp *ep)
{
	(void)ep;
	return PROVIDER_NAME;
}

static struct provider *provider_of(OrtEp *ep)
{
	return (struct provider *)ep;
}

static OrtStatus *take_parts(struct provider *p, struct graph *g, OrtEpGraphSupportInfo *info)
{
	const OrtNodeFusionOptions fusion = {
		.ort_version_supported = ORT_API_VERSION, .drop_constant_initializers = true };
	const OrtNode **nodes;
	struct part *parts;
	size_t n, taken = 0;

	TRY(select_nodes(g, &p->how, &parts, &n));
	nodes = memory_get(&g->memory, g->n_nodes + 1, sizeof(*nodes));
	if (!nodes)
		return ort_no_memory();
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < parts[i].n_nodes; k++)
			nodes[k] = g->nodes[parts[i].nodes[k]].node;
		TRY(ort_ep->EpGraphSupportInfo_AddNodesToFuse(info, nodes, parts[i].n_nodes,
							      &fusion));
		taken += parts[i].n_nodes;
	}
	p->taken = taken;
	log_text(p->how.log, ORT_LOGGING_LEVEL_INFO, "vta: %zu of %zu nodes, in %zu parts, on %s",
		 taken, g->n_nodes, n, p->how.cards[0]);
	return NULL;
}

/*
 * Bodies of loops and branches stay with ONNX Runtime, whose names for parts of two graphs of a
 * model collide. It does not say which graph is a body (1.23.2): one that uses values from outside.
 */
static OrtStatus *is_body(const struct graph *g, bool *body)
{
	const OrtNode *parent = NULL;

	TRY(ort->Graph_GetParentNode(g->graph, &parent));
	*body = parent;
	for (size_t i = 0; i < g->n_values && !*body; i++)
		TRY(ort->ValueInfo_IsFromOuterScope(g->values[i].info, body));
	return NULL;
}

static OrtStatus *ORT_API_CALL provider_capability(OrtEp *ep, const OrtGraph *graph,
						   OrtEpGraphSupportInfo *info)
{
	struct graph g;
	bool body = true;
	OrtStatus *err;

	/*
	 * Asked again when functions have become nodes, ONNX Runtime gives parts the names that it
	 * gave before (1.23.2), and fails: these nodes stay with it.
	 */
	if (provider_of(ep)->taken)
		return NULL;
	err = graph_read(&g, graph);
	if (!err)
		err = is_body(&g, &body);
	if (!err && !body)
		err = take_parts(provider_of(ep), &g, info);
	graph_free(&g);
	return err;
}

static void ORT_API_CALL provider_release_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t n)
{
	(void)ep;
	for (size_t i = 0; i < n; i++)
		if (infos[i])
			fused_free(infos[i]);
}

static OrtStatus *ORT_API_CALL provider_compile(OrtEp *ep, const OrtGraph **graphs,
						const OrtNode **nodes, size_t n,
						OrtNodeComputeInfo **infos, OrtNode **contexts)
{
	for (size_t i = 0; i < n; i++) {
		OrtStatus *err = fused_new(&provider_of(ep)->how, graphs[i], nodes[i], &infos[i],
					   &contexts[i]);

		if (err) {
			/* ONNX Runtime must not release them again. */
			provider_release_infos(ep, infos, i);
			memset(infos, 0, n * sizeof(*infos));
			return err;
		}
	}
	return NULL;
}

/* ---- options ---- */

/* Read option @name of the session into @text; "" if it is not given. */
static OrtStatus *read_option(const OrtSessionOptions *options, const char *name, char *text,
			      size_t size)
{
	char key[100], *c;
	int has = 0;

	snprintf(key, sizeof(key), "ep.%s.%s", PROVIDER_NAME, name);
	/* ONNX Runtime writes the provider's name in small letters. */
	for (c = key; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	text[0] = 0;
	TRY(ort->HasSessionConfigEntry(options, key, &has));
	return has ? ort->GetSessionConfigEntry(options, key, text, &size) : NULL;
}

static OrtStatus *read_number(const OrtSessionOptions *options, const char *name,
			      unsigned int most, unsigned int *number)
{
	char text[32], *end;
	unsigned long n;

	TRY(read_option(options, name, text, sizeof(text)));
	if (!text[0])
		return NULL;
	n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || n < 1 || n > most)
		return ort_fail(ORT_INVALID_ARGUMENT,
				"option %s is \"%s\", not a number from 1 to %u", name, text, most);
	*number = (unsigned int)n;
	return NULL;
}

/* Read an option that is 0 or 1. */
static OrtStatus *read_flag(const OrtSessionOptions *options, const char *name, bool *flag)
{
	char text[32];

	TRY(read_option(options, name, text, sizeof(text)));
	if (text[0] && strcmp(text, "0") && strcmp(text, "1"))
		return ort_fail(ORT_INVALID_ARGUMENT, "option %s is \"%s\", not 0 or 1", name,
				text);
	*flag = text[0] == '1';
	return NULL;
}

/* Read an option that names a directory. */
static OrtStatus *read_directory(const OrtSessionOptions *options, const char *name, char **path)
{
	char text[4096];
	struct stat st;

	TRY(read_option(options, name, text, sizeof(text)));
	if (!text[0])
		return NULL;
	if (stat(text, &st))
		return ort_fail(ORT_INVALID_ARGUMENT, "option %s: %s: %s", name, text,
				strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return ort_fail(ORT_INVALID_ARGUMENT, "option %s: %s is no directory", name, text);
	*path = strdup(text);
	return *path ? NULL : ort_no_memory();
}

/* Does the session write a model with EPContext nodes? */
static OrtStatus *read_contexts(const OrtSessionOptions *options, bool *contexts)
{
	char text[32];
	size_t size = sizeof(text);
	int has = 0;

	TRY(ort->HasSessionConfigEntry(options, kOrtSessionOptionEpContextEnable, &has));
	if (has)
		TRY(ort->GetSessionConfigEntry(options, kOrtSessionOptionEpContextEnable, text,
					       &size));
	*contexts = has && !strcmp(text, "1");
	return NULL;
}

static OrtStatus *add_card(struct choice *how, const char *name)
{
	for (unsigned int i = 0; i < how->n_cards; i++)
		if (!strcmp(how->cards[i], name) && strncmp(name, "soft", 4))
			return NULL;
	if (how->n_cards == CARDS_MAX)
		return ort_fail(ORT_INVALID_ARGUMENT, "more than %u cards", CARDS_MAX);
	how->cards[how->n_cards] = strdup(name);
	return how->cards[how->n_cards++] ? NULL : ort_no_memory();
}

/*
 * The option "device", names separated by commas; else the devices that the session chose. The
 * option "fallback" is the name of one more.
 */
static OrtStatus *choose_cards(struct choice *how, const OrtSessionOptions *options,
			       const OrtKeyValuePairs *const *metadata, size_t n)
{
	char text[4096], *rest = text, *name;

	TRY(read_option(options, CARD_KEY, text, sizeof(text)));
	while ((name = strsep(&rest, ",")))
		if (name[0])
			TRY(add_card(how, name));
	for (size_t i = 0; !text[0] && i < n; i++) {
		const char *card = metadata[i] ? ort->GetKeyValue(metadata[i], CARD_KEY) : NULL;

		if (card)
			TRY(add_card(how, card));
	}
	TRY(read_option(options, FALLBACK_KEY, text, sizeof(text)));
	if (text[0]) {
		how->fallback = strdup(text);
		if (!how->fallback)
			return ort_no_memory();
	}
	return how->n_cards ? NULL : ort_fail(ORT_INVALID_ARGUMENT, "no device was chosen");
}

static OrtStatus *read_core(const char *card, struct vtaops_core *core)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	struct vtadev *dev;
	int err = vtadev_open(card, &dev);

	if (err) {
		vtadev_open_text(card, why, sizeof(why));
		return ort_fail(ORT_FAIL, "%s: %s", card, why);
	}
	err = vtaprog_core(dev, core);
	vtadev_close(dev);
	return err ? ort_fail(ORT_FAIL, "%s: %s", card, vtadev_strerror(err)) : NULL;
}

/* A program is compiled for one configuration, which all cards must have. */
static OrtStatus *read_cores(struct choice *how)
{
	struct vtaops_core core = { 0 };

	TRY(read_core(how->cards[0], &how->core));
	for (unsigned int i = 1; i < how->n_cards + !!how->fallback; i++) {
		const char *card = i < how->n_cards ? how->cards[i] : how->fallback;

		TRY(read_core(card, &core));
		if (memcmp(&core, &how->core, sizeof(core)))
			return ort_fail(ORT_INVALID_ARGUMENT,
					"%s has another configuration than %s", card,
					how->cards[0]);
	}
	return NULL;
}

static void free_provider(struct provider *p)
{
	for (unsigned int i = 0; i < p->how.n_cards; i++)
		free(p->how.cards[i]);
	free(p->how.fallback);
	free(p->how.calibration);
	free(p);
}

/* ---- the factory ---- */

static const char *ORT_API_CALL factory_name(const OrtEpFactory *f)
{
	(void)f;
	return PROVIDER_NAME;
}

static const char *ORT_API_CALL factory_vendor(const OrtEpFactory *f)
{
	(void)f;
	return "vta-pcie";
}

static uint32_t ORT_API_CALL factory_vendor_id(const OrtEpFactory *f)
{
	(void)f;
	return 0;
}

static const char *ORT_API_CALL factory_version(const OrtEpFactory *f)
{
	(void)f;
	return vtadev_version();
}

static OrtStatus *list_card(OrtEpFactory *f, const OrtHardwareDevice *cpu, const char *name,
			    OrtEpDevice **device)
{
	OrtKeyValuePairs *metadata;
	OrtStatus *err;

	ort->CreateKeyValuePairs(&metadata);
	ort->AddKeyValuePair(metadata, CARD_KEY, name);
	err = ort_ep->CreateEpDevice(f, cpu, metadata, NULL, device);
	ort->ReleaseKeyValuePairs(metadata);
	return err;
}

static OrtStatus *ORT_API_CALL factory_devices(OrtEpFactory *f,
					       const OrtHardwareDevice *const *hardware, size_t n,
					       OrtEpDevice **devices, size_t max, size_t *count)
{
	const OrtHardwareDevice *cpu = NULL;
	struct vtadev_card *cards;
	int n_cards;
	OrtStatus *err = NULL;

	*count = 0;
	for (size_t i = 0; i < n && !cpu; i++)
		if (ort->HardwareDevice_Type(hardware[i]) == OrtHardwareDeviceType_CPU)
			cpu = hardware[i];
	n_cards = cpu ? vtadev_list_all(&cards) : 0;
	if (n_cards < 0)
		return ort_fail(ORT_FAIL, "cannot list cards: %s", vtadev_strerror(n_cards));
	for (int i = 0; !err && i < n_cards && *count < max; i++) {
		const char *name = strrchr(cards[i].node, '/');

		err = list_card(f, cpu, name ? name + 1 : cards[i].node, &devices[*count]);
		*count += !err;
	}
	if (cpu)
		vtadev_list_free(cards);
	return err;
}

static OrtStatus *ORT_API_CALL factory_create(OrtEpFactory *f,
					      const OrtHardwareDevice *const *devices,
					      const OrtKeyValuePairs *const *metadata, size_t n,
					      const OrtSessionOptions *options,
					      const OrtLogger *log, OrtEp **ep)
{
	struct provider *p = calloc(1, sizeof(*p));
	OrtStatus *err;

	(void)f;
	(void)devices;
	if (!p)
		return ort_no_memory();
	p->how.log = log;
	p->how.runs = RUNS_DEFAULT;
	p->ep = (OrtEp) {
		.ort_version_supported = ORT_API_VERSION,
		.GetName = provider_name, .GetCapability = provider_capability,
		.Compile = provider_compile, .ReleaseNodeComputeInfos = provider_release_infos,
	};
	err = choose_cards(&p->how, options, metadata, n);
	if (!err)
		err = read_number(options, "calibration_runs", RUNS_MAX, &p->how.runs);
	if (!err)
		err = read_directory(options, "calibration", &p->how.calibration);
	if (!err)
		err = read_flag(options, "all", &p->how.all);
	if (!err)
		err = read_contexts(options, &p->how.contexts);
	if (!err)
		err = read_cores(&p->how);
	if (err)
		free_provider(p);
	else
		*ep = &p->ep;
	return err;
}

static void ORT_API_CALL factory_release(OrtEpFactory *f, OrtEp *ep)
{
	(void)f;
	free_provider(provider_of(ep));
}

static bool ORT_API_CALL factory_stream(const OrtEpFactory *f)
{
	(void)f;
	return false;
}

/* The default allocators are used: there is nothing to make or to release. */
static OrtStatus *ORT_API_CALL factory_allocator(OrtEpFactory *f, const OrtMemoryInfo *info,
						 const OrtKeyValuePairs *options,
						 OrtAllocator **allocator)
{
	(void)f;
	(void)info;
	(void)options;
	*allocator = NULL;
	return NULL;
}

static void ORT_API_CALL factory_release_allocator(OrtEpFactory *f, OrtAllocator *allocator)
{
	(void)f;
	(void)allocator;
}

static OrtStatus *ORT_API_CALL factory_transfer(OrtEpFactory *f, OrtDataTransferImpl **transfer)
{
	(void)f;
	*transfer = NULL;
	return NULL;
}

/* ---- exported ---- */

OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *log,
			     OrtEpFactory **factories, size_t max, size_t *count);
OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

/* CreateEpFactories() - ONNX Runtime's entry: one factory */
OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *log,
			     OrtEpFactory **factories, size_t max, size_t *count)
{
	OrtEpFactory *f;

	(void)name;
	(void)log;
	*count = 0;
	/* An older ONNX Runtime has no such API, and no provider could use it. */
	ort = base->GetApi(ORT_API_VERSION);
	if (!ort)
		return base->GetApi(1)->CreateStatus(ORT_FAIL,
			"vta: the provider is for a newer ONNX Runtime");
	ort_ep = ort->GetEpApi();
	if (!max)
		return ort_fail(ORT_INVALID_ARGUMENT, "no room for a factory");
	f = calloc(1, sizeof(*f));
	if (!f)
		return ort_no_memory();
	*f = (OrtEpFactory) {
		.ort_version_supported = ORT_API_VERSION,
		.GetName = factory_name, .GetVendor = factory_vendor,
		.GetVendorId = factory_vendor_id, .GetVersion = factory_version,
		.GetSupportedDevices = factory_devices,
		.CreateEp = factory_create, .ReleaseEp = factory_release,
		.CreateAllocator = factory_allocator, .ReleaseAllocator = factory_release_allocator,
		.CreateDataTransfer = factory_transfer, .IsStreamAware = factory_stream,
	};
	factories[0] = f;
	*count = 1;
	return NULL;
}

/* ReleaseEpFactory() - free what CreateEpFactories() made */
OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	free(factory);
	return NULL;
}
