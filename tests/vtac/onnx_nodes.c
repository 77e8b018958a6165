// SPDX-License-Identifier: GPL-2.0-only
/*
 * ONNX's own tests of operators (libonnx-testdata): each model through the reader, shape
 * inference and the float interpreter, its outputs against those of the package.
 *
 *	onnx_nodes DIRECTORY LIST [table]
 *
 * With table, prints the lines of the table in docs/models.md instead: for each operator, how many
 * of its tests pass. Operators that the page excludes are counted apart.
 *
 * LIST names the tests that must pass, and those after a "!" whose data is known to be
 * wrong. Any other may be unsupported, which is an error with a sentence, but never
 * wrong. Tolerance: 1e-5 + 1e-4 |expected|; integers exact.
 *
 * A model of one node has its parameters (the shape of a Reshape) as inputs. Three ways
 * are tried: only the first input varies, all vary, none does (then all is folded).
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx/onnx_impl.h"
#include "passes/sizes.h"
#include "api/vtac.h"

enum way { FIRST_VARIES, ALL_VARY, NONE_VARIES, WAYS };
enum result { PASSED, UNSUPPORTED, WRONG, NO_DATA };

struct run {
	const char *dir;
	struct vtac_graph *g;
	struct vtac_tensor **given;	/* values for the inputs, in order */
	struct vtac_tensor **names;	/* the inputs that they are for */
	unsigned int n;
	unsigned int n_outputs;		/* of the file */
	struct vtac_tensor **outputs;	/* their values */
	void **got;			/* and those computed, of all outputs */
};

static void *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	size_t n, at = 0;

	if (!f)
		return NULL;
	do {
		data = realloc(data, at + 65536);
		n = fread(data + at, 1, 65536, f);
		at += n;
	} while (n);
	fclose(f);
	*len = at;
	return data;
}

/* input_I.pb or output_I.pb as a constant of the graph; NULL: there is none like that. */
static struct vtac_tensor *load(struct run *r, const char *kind, unsigned int i)
{
	struct onnx_reader reader = { .g = r->g };
	struct vtac_tensor *t = NULL;
	Onnx__TensorProto *p;
	char path[1024];
	size_t len;
	void *data;

	snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%u.pb", r->dir, kind, i);
	data = slurp(path, &len);
	p = data ? onnx__tensor_proto__unpack(NULL, len, data) : NULL;
	/* ONNX's tests keep bfloat16 as uint16. */
	if (p && p->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT16 &&
	    strstr(r->dir, "BFLOAT16"))
		p->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
	if (p)
		t = vtac_tensor_new(r->g, kind, VTAC_F32);
	if (t && onnx_tensor_fill(&reader, t, p))
		t = NULL;
	if (p)
		onnx__tensor_proto__free_unpacked(p, NULL);
	free(data);
	return t;
}

static bool load_inputs(struct run *r)
{
	r->n = r->g->n_inputs;
	r->names = calloc(r->n + 1, sizeof(*r->names));
	r->given = calloc(r->n + 1, sizeof(*r->given));
	for (unsigned int i = 0; i < r->n; i++) {
		r->names[i] = r->g->inputs[i];
		r->given[i] = load(r, "input", i);
		if (!r->given[i])
			return false;
	}
	return true;
}

/* Inputs that do not vary become constants. */
static void fix_inputs(struct run *r, enum way way)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < r->n; i++) {
		struct vtac_tensor *t = r->names[i];

		t->dtype = r->given[i]->dtype;
		t->rank = r->given[i]->rank;
		memcpy(t->dims, r->given[i]->dims, sizeof(t->dims));
		if (way == ALL_VARY || (way == FIRST_VARIES && i == 0))
			r->g->inputs[kept++] = t;
		else
			t->data = r->given[i]->data;
	}
	r->g->n_inputs = kept;
}

static int give(void *priv, const struct vtac_tensor *t, void *data)
{
	struct run *r = priv;

	for (unsigned int i = 0; i < r->n; i++)
		if (r->names[i] == t) {
			memcpy(data, r->given[i]->data, (size_t)vtac_bytes(t));
			return 0;
		}
	return -1;
}

/* The file's values of these tests have four digits behind the point. */
static double least_tolerance(const struct run *r)
{
	return strstr(r->dir, "roialign") || strstr(r->dir, "gridsample") ? 0.0001 : 0.00001;
}

static bool is_close(const struct run *r, const struct vtac_tensor *want, const void *data)
{
	const float *a = data, *b = want->data;
	double least = least_tolerance(r);

	if (want->dtype != VTAC_F32)
		return !memcmp(data, want->data, (size_t)vtac_bytes(want));
	for (int64_t i = 0; i < vtac_elements(want); i++) {
		double off = fabs((double)a[i] - (double)b[i]);

		if (!(off <= least + 0.0001 * fabs((double)b[i])) && a[i] != b[i] &&
		    !(isnan(a[i]) && isnan(b[i])))
			return false;
	}
	return true;
}

static void keep_output(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct run *r = priv;

	for (unsigned int i = 0; i < r->g->n_outputs; i++)
		if (r->g->outputs[i] == t && !r->got[i]) {
			r->got[i] = malloc((size_t)vtac_bytes(t) + 1);
			memcpy(r->got[i], data, (size_t)vtac_bytes(t));
		}
}

static const void *find_value(const struct run *r, const struct vtac_tensor *t)
{
	for (unsigned int i = 0; i < r->g->n_outputs; i++)
		if (r->g->outputs[i] == t)
			return r->got[i];
	return NULL;
}

/* Output @i: if data decides a size, only what is in use counts. */
static bool is_right(const struct run *r, unsigned int i)
{
	const struct vtac_tensor *want = r->outputs[i];
	struct vtac_tensor t = *r->g->outputs[i];

	if (!r->got[i] || !want || want->dtype != t.dtype)
		return false;
	if (t.size) {
		const int64_t *n = find_value(r, t.size);

		if (!n || *n < 0 || *n > t.dims[t.open])
			return false;
		t.data = r->got[i];
		if (vtac_shrink(r->g, &t, *n))
			return false;
		return vtac_same_shape(want, &t) && is_close(r, want, t.data);
	}
	return vtac_same_shape(want, &t) && is_close(r, want, r->got[i]);
}

static enum result run_graph(struct run *r, enum way way)
{
	struct vtac_interp io = { .input = give, .tensor = keep_output, .priv = r };
	struct vtac_options opt = { 0 };
	enum result result = PASSED;

	r->n_outputs = r->g->n_outputs;
	r->outputs = calloc(r->n_outputs + 1, sizeof(*r->outputs));
	for (unsigned int i = 0; i < r->n_outputs; i++)
		r->outputs[i] = load(r, "output", i);
	fix_inputs(r, way);
	if (vtac_pass_shape(r->g, &opt))
		return UNSUPPORTED;
	r->got = calloc(r->g->n_outputs + 1, sizeof(*r->got));
	if (vtac_interp_float(r->g, &io))
		result = UNSUPPORTED;
	for (unsigned int i = 0; i < r->n_outputs; i++)
		if (result == PASSED && !is_right(r, i))
			result = WRONG;
	for (unsigned int i = 0; i < r->g->n_outputs; i++)
		free(r->got[i]);
	free(r->got);
	return result;
}

/* Operators that have not changed since have models of opsets before 7: read as 7. */
static int read_model(struct run *r)
{
	Onnx__ModelProto *m = NULL;
	uint8_t *data, *packed;
	char path[1024];
	size_t len;
	int err = -1;

	snprintf(path, sizeof(path), "%s/model.onnx", r->dir);
	data = slurp(path, &len);
	if (data)
		m = onnx__model_proto__unpack(NULL, len, data);
	if (!m || !m->n_opset_import || m->opset_import[0]->version >= 7 ||
	    m->opset_import[0]->version < 1) {
		err = vtac_read_onnx(r->g, path);
	} else {
		m->opset_import[0]->version = 7;
		packed = malloc(onnx__model_proto__get_packed_size(m));
		len = onnx__model_proto__pack(m, packed);
		err = vtac_read_onnx_memory(r->g, packed, len, NULL);
		free(packed);
	}
	if (m)
		onnx__model_proto__free_unpacked(m, NULL);
	free(data);
	return err;
}

/* ---- the table ---- */

/* Operators on other things than numbers in tensors, and those of training */
static const char *const excluded[] = {
	"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
	"Multinomial", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "StringNormalizer",
	"TfIdfVectorizer", "StringConcat", "StringSplit", "RegexFullMatch", "ImageDecoder",
	"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
	"SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional",
	"OptionalGetElement", "OptionalHasElement",
};
/* Errors of tests of them */
static const char *const excluded_by[] = {
	"is of string", "casts to string", "is not a tensor", "training mode", "is of opset 0",
};

static bool is_excluded(const char *op, const char *why)
{
	for (unsigned int i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++)
		if (!strcmp(excluded[i], op))
			return true;
	for (unsigned int i = 0; i < sizeof(excluded_by) / sizeof(excluded_by[0]); i++)
		if (strstr(why, excluded_by[i]))
			return true;
	/* A function that expands to one */
	for (unsigned int i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "(%s)", excluded[i]);
		if (strstr(why, text))
			return true;
	}
	return false;
}

struct row {
	char op[64];
	unsigned int passed, all, out;	/* out: excluded */
};

static struct row rows[512];
static unsigned int n_rows;

/* The operator that a test is named for: the first node's. */
static void read_operator(const char *dir, char op[64])
{
	Onnx__ModelProto *m = NULL;
	char path[1024];
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s/model.onnx", dir);
	data = slurp(path, &len);
	if (data)
		m = onnx__model_proto__unpack(NULL, len, data);
	snprintf(op, 64, "%s", m && m->graph && m->graph->n_node && m->graph->node[0]->op_type ?
		 m->graph->node[0]->op_type : "?");
	if (m)
		onnx__model_proto__free_unpacked(m, NULL);
	free(data);
}

static struct row *row_of(const char *op)
{
	for (unsigned int i = 0; i < n_rows; i++)
		if (!strcmp(rows[i].op, op))
			return &rows[i];
	if (n_rows == 511)
		return &rows[n_rows];
	snprintf(rows[n_rows].op, sizeof(rows[0].op), "%s", op);
	return &rows[n_rows++];
}

static void add_to_table(const char *dir, enum result result, const char *why)
{
	struct row *row;
	char op[64];

	read_operator(dir, op);
	row = row_of(op);
	row->all++;
	row->passed += result == PASSED;
	row->out += result != PASSED && is_excluded(op, why);
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->op, ((const struct row *)b)->op);
}

/* One line of the page's table, if @wanted is true of any operator: those. */
static void print_operators(const char *title, bool (*wanted)(const struct row *r))
{
	bool first = true;

	for (unsigned int i = 0; i < n_rows; i++) {
		const struct row *r = &rows[i];

		if (!wanted(r))
			continue;
		printf("%s%s%s", first ? "| " : ", ", first ? title : "", first ? " | " : "");
		printf("%s", r->op);
		if (r->passed && r->passed + r->out < r->all)
			printf(" (%u of %u)", r->passed, r->all - r->out);
		first = false;
	}
	if (!first)
		puts(" |");
}

static bool is_passed_row(const struct row *r)
{
	return r->passed;
}

static bool is_missing_row(const struct row *r)
{
	return !r->passed && r->out < r->all;
}

static bool is_excluded_row(const struct row *r)
{
	return !r->passed && r->out == r->all;
}

static void print_table(void)
{
	qsort(rows, n_rows, sizeof(rows[0]), compare_rows);
	print_operators("compiled", is_passed_row);
	print_operators("not yet", is_missing_row);
	print_operators("excluded", is_excluded_row);
}

static enum result run_way(const char *dir, enum way way, char *why, size_t len)
{
	struct run r = { .dir = dir, .g = vtac_graph_new(64 << 20) };
	enum result result = UNSUPPORTED;

	if (!read_model(&r))
		result = load_inputs(&r) ? run_graph(&r, way) : NO_DATA;
	if (result == UNSUPPORTED)
		snprintf(why, len, "%.500s", r.g->error.text);
	/* An error has a sentence. */
	if (result == UNSUPPORTED && !r.g->error.text[0])
		result = WRONG;
	free(r.names);
	free(r.given);
	free(r.outputs);
	vtac_graph_free(r.g);
	return result;
}

static enum result run_test(const char *dir, char *why, size_t len)
{
	enum result best = NO_DATA;

	for (int way = 0; way < WAYS; way++) {
		enum result result = run_way(dir, (enum way)way, why, len);

		if (result == WRONG)
			return WRONG;
		if (result < best)
			best = result;
	}
	return best;
}

/* Names of LIST; ended by NULL. */
static char **read_list(const char *path)
{
	size_t len = 0, n = 0;
	char *text = slurp(path, &len);
	char **names = calloc(len + 1, sizeof(*names));

	if (!text)
		return names;
	text[len ? len - 1 : 0] = 0;
	for (char *name = strtok(text, "\n"); name; name = strtok(NULL, "\n"))
		if (name[0] != '#')
			names[n++] = name;
	return names;
}

static bool is_listed(char **list, const char *name, bool known)
{
	for (; *list; list++)
		if ((*list)[0] == '!' ? known && !strcmp(*list + 1, name) :
		    !known && !strcmp(*list, name))
			return true;
	return false;
}

struct counts {
	unsigned int result[4], known, n, excluded;
	bool failed, table;
};

/* One line of TAP for each test that must pass, and for each that is wrong. */
static void report(struct counts *c, const char *name, enum result result, bool wanted,
		   const char *why)
{
	bool later = result == UNSUPPORTED && strstr(why, "is of opset");
	bool bad = result == WRONG || (wanted && result != PASSED && !later);

	c->result[result]++;
	c->excluded += result == UNSUPPORTED && is_excluded("", why);
	if (c->table)
		return;
	if (wanted && later)
		printf("ok %u %s # SKIP %s\n", ++c->n, name, why);
	else if (bad)
		printf("not ok %u %s: %s\n", ++c->n, name, result == WRONG ? "wrong" : why);
	else if (wanted)
		printf("ok %u %s\n", ++c->n, name);
	else if (getenv("V"))
		printf("# %s %s %s\n", result == PASSED ? "passed" : "unsupported", name, why);
	c->failed = c->failed || bad;
}

/* Releases of the test data have other tests: one line for all that this one has not. */
static void report_missing(struct counts *c, const char *dir, char **list)
{
	unsigned int n = 0;
	char path[800];

	for (; *list; list++) {
		snprintf(path, sizeof(path), "%s/%s", dir, *list);
		if ((*list)[0] == '!' || !access(path, F_OK))
			continue;
		printf("# not in this release's test data: %s\n", *list);
		n++;
	}
	if (n)
		printf("ok %u %u tests # SKIP they are not in this release's test data\n", ++c->n,
		       n);
}

int main(int argc, char **argv)
{
	struct counts c = { .n = 0 };
	struct dirent **entries;
	char **list;
	int n;

	if (argc != 3 && argc != 4)
		return 2;
	c.table = argc == 4;
	if (!c.table)
		puts("TAP version 13");
	n = scandir(argv[1], &entries, NULL, alphasort);
	if (n < 0) {
		printf("1..0 # SKIP no %s (package libonnx-testdata)\n", argv[1]);
		return 0;
	}
	list = read_list(argv[2]);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char dir[800], why[512] = "";
		enum result result;

		if (strncmp(name, "test_", 5))
			continue;
		if (is_listed(list, name, true)) {
			c.known++;
			continue;
		}
		snprintf(dir, sizeof(dir), "%s/%s", argv[1], name);
		result = run_test(dir, why, sizeof(why));
		report(&c, name, result, is_listed(list, name, false), why);
		if (c.table)
			add_to_table(dir, result, why);
	}
	if (c.table) {
		print_table();
		return c.failed;
	}
	report_missing(&c, argv[1], list);
	printf("1..%u\n", c.n);
	printf("# %u passed, %u unsupported, %u wrong, %u without tensors; %u have wrong data\n",
	       c.result[PASSED], c.result[UNSUPPORTED], c.result[WRONG], c.result[NO_DATA],
	       c.known);
	printf("# %.1f %% of those that docs/models.md does not exclude (%u are)\n",
	       100.0 * c.result[PASSED] / (c.result[PASSED] + c.result[UNSUPPORTED] +
					   c.result[WRONG] - c.excluded), c.excluded);
	return c.failed || !c.result[PASSED];
}
