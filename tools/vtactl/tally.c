// SPDX-License-Identifier: GPL-2.0-only
/*
 * tally.c - how many of a set's images a classifier gets right
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "labels.h"
#include "tally.h"
#include "values.h"

#define CRC_POLYNOMIAL	0xedb88320u	/* that of IEEE 802.3, reflected */

/* Classes, and others that each is taken for, in the text; JSON has all. */
#define WORST_SHOWN	10
#define TAKEN_SHOWN	3

static uint32_t crc_add(uint32_t crc, const uint8_t *data, size_t size)
{
	crc = ~crc;
	while (size--) {
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
	}
	return ~crc;
}

int tally_begin(struct tally *tally, size_t classes, uint32_t top)
{
	*tally = (struct tally) {
		.classes = classes, .top = top,
		.of = calloc(classes, sizeof(*tally->of)),
		.wrong = calloc(classes, sizeof(*tally->wrong)),
	};
	return tally->of && tally->wrong ? 0 : -ENOMEM;
}

void tally_free(struct tally *tally)
{
	free(tally->of);
	free(tally->wrong);
	free(tally->pairs);
	*tally = (struct tally) { .of = NULL };
}

static bool comes_before(double a, size_t i, double b, size_t j)
{
	if (isnan(a) || isnan(b))
		return !isnan(a);
	return a > b || (a == b && i < j);
}

static int add_pair(struct tally *tally, uint32_t truth, uint32_t found)
{
	if (tally->pair_count == tally->pair_room) {
		size_t room = tally->pair_room ? 2 * tally->pair_room : 256;
		struct tally_pair *more = realloc(tally->pairs, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		tally->pairs = more;
		tally->pair_room = room;
	}
	tally->pairs[tally->pair_count++] = (struct tally_pair) { truth, found, 1 };
	return 0;
}

int tally_add(struct tally *tally, const struct vtaimage_tensor *output, const void *values,
	      uint32_t truth)
{
	double own = values_at(output, values, truth), most = NAN;
	uint32_t found = TALLY_NONE;
	size_t rank = 0;

	for (size_t i = 0; i < tally->classes; i++) {
		double v = values_at(output, values, i);

		rank += comes_before(v, i, own, truth);
		if (comes_before(v, i, most, found)) {
			most = v;
			found = (uint32_t)i;
		}
	}
	if (isnan(own))
		rank = tally->classes;
	tally->images++;
	tally->of[truth]++;
	tally->right += found == truth;
	tally->right_top += rank < tally->top;
	tally->crc = crc_add(tally->crc, values, values_bytes(output));
	if (found == truth)
		return 0;
	tally->wrong[truth]++;
	return add_pair(tally, truth, found);
}

/* ---- Results ---- */

static int by_classes(const void *a, const void *b)
{
	const struct tally_pair *p = a, *q = b;

	if (p->truth != q->truth)
		return p->truth < q->truth ? -1 : 1;
	return (p->found > q->found) - (p->found < q->found);
}

static int by_images(const void *a, const void *b)
{
	const struct tally_pair *p = a, *q = b;

	if (p->images != q->images)
		return p->images > q->images ? -1 : 1;
	return by_classes(a, b);
}

void tally_end(struct tally *tally)
{
	struct tally_pair *pairs = tally->pairs;
	size_t kept = 0;

	if (!tally->pair_count)
		return;
	qsort(pairs, tally->pair_count, sizeof(*pairs), by_classes);
	for (size_t i = 0; i < tally->pair_count; i++) {
		if (kept && !by_classes(&pairs[kept - 1], &pairs[i]))
			pairs[kept - 1].images++;
		else
			pairs[kept++] = pairs[i];
	}
	tally->pair_count = kept;
	qsort(pairs, kept, sizeof(*pairs), by_images);
}

static double share(size_t part, size_t of)
{
	return of ? (double)part / (double)of : 0;
}

/* The class with the greatest share of wrong images after @last, or the first; then @classes. */
static size_t next_worst(const struct tally *t, size_t last)
{
	size_t worst = t->classes;

	for (size_t i = 0; i < t->classes; i++) {
		double own = share(t->wrong[i], t->of[i]);

		if (!t->wrong[i] || (last < t->classes &&
				     !comes_before(share(t->wrong[last], t->of[last]), last, own,
						   i)))
			continue;
		if (worst == t->classes ||
		    comes_before(own, i, share(t->wrong[worst], t->of[worst]), worst))
			worst = i;
	}
	return worst;
}

static void print_found(const struct labels *names, uint32_t found)
{
	if (found == TALLY_NONE)
		printf("none (NaN)");
	else
		labels_print_word(names, found);
}

static void print_worst(const struct tally *t, const struct labels *names, size_t class)
{
	size_t shown = 0;

	printf("%6.2f %% %8zu   ", 100 * share(t->of[class] - t->wrong[class], t->of[class]),
	       t->of[class]);
	labels_print_word(names, class);
	for (size_t i = 0; i < t->pair_count && shown < TAKEN_SHOWN; i++) {
		if (t->pairs[i].truth != class)
			continue;
		printf("%s", shown++ ? ", " : " as ");
		print_found(names, t->pairs[i].found);
		printf(" (%zu)", t->pairs[i].images);
	}
	putchar('\n');
}

void tally_print(const struct tally *t, const struct labels *names)
{
	size_t class = t->classes;

	printf("top-1   %6.2f %%  %zu of %zu images\n", 100 * share(t->right, t->images), t->right,
	       t->images);
	if (t->top > 1)
		printf("top-%-3u %6.2f %%  %zu\n", t->top, 100 * share(t->right_top, t->images),
		       t->right_top);
	printf("outputs  %08x  CRC-32 of all\n", t->crc);
	for (int i = 0; i < WORST_SHOWN && (class = next_worst(t, class)) < t->classes; i++) {
		if (!i)
			printf("\n   right   images   the worst classes, and what they are taken "
			       "for\n");
		print_worst(t, names, class);
	}
}

static struct json_object *name_json(const struct labels *names, size_t class)
{
	return labels_name(names, class) ? json_object_new_string(labels_name(names, class)) :
	       NULL;
}

static struct json_object *pair_json(const struct tally_pair *pair, const struct labels *names)
{
	struct json_object *to = json_object_new_object();

	json_object_object_add(to, "class", json_object_new_int64(pair->truth));
	json_object_object_add(to, "name", name_json(names, pair->truth));
	json_object_object_add(to, "taken_for", pair->found == TALLY_NONE ? NULL :
			       json_object_new_int64(pair->found));
	json_object_object_add(to, "taken_for_name", pair->found == TALLY_NONE ? NULL :
			       name_json(names, pair->found));
	json_object_object_add(to, "images", json_object_new_uint64(pair->images));
	return to;
}

static struct json_object *class_json(const struct tally *t, const struct labels *names, size_t i)
{
	struct json_object *to = json_object_new_object();

	json_object_object_add(to, "class", json_object_new_uint64(i));
	json_object_object_add(to, "name", name_json(names, i));
	json_object_object_add(to, "images", json_object_new_uint64(t->of[i]));
	json_object_object_add(to, "right", json_object_new_uint64(t->of[i] - t->wrong[i]));
	return to;
}

void tally_json(const struct tally *t, const struct labels *names, struct json_object *to)
{
	struct json_object *classes = json_object_new_array(), *wrong = json_object_new_array();
	char crc[16];

	snprintf(crc, sizeof(crc), "%08x", t->crc);
	json_object_object_add(to, "images", json_object_new_uint64(t->images));
	json_object_object_add(to, "top1", json_object_new_uint64(t->right));
	json_object_object_add(to, "k", json_object_new_uint64(t->top));
	json_object_object_add(to, "topk", json_object_new_uint64(t->right_top));
	json_object_object_add(to, "outputs_crc32", json_object_new_string(crc));
	for (size_t i = 0; i < t->classes; i++)
		if (t->of[i])
			json_object_array_add(classes, class_json(t, names, i));
	for (size_t i = 0; i < t->pair_count; i++)
		json_object_array_add(wrong, pair_json(&t->pairs[i], names));
	json_object_object_add(to, "classes", classes);
	json_object_object_add(to, "wrong", wrong);
}
