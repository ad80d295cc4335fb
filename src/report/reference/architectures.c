/* Selects the cards that represent their architectures, and the best value of each. */
#include "report/reference/architectures.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const struct question questions[QUESTIONS] = {
	{ "Memory", { "memory_triad", "memory_copy", "memory_scale", "device_copy" }, NULL },
	{ "FP32 GEMM", { "gemm_fp32" }, NULL },
	/* The card's fastest way: tensor cores, else FP16 arithmetic, else FP16 storage. */
	{ "FP16 GEMM", { "gemm_fp16_tensor", "gemm_fp16", "gemm_fp16_storage" }, NULL },
	{ "Host link", { "host_to_device" }, NULL },
	{ "GPU to GPU", { "peer_copy" }, NULL },
	{ "ResNet-50, FP32", { "training_rate" }, "ResNet-50, FP32" },
};

/* "V100" of "V100 SXM2" and "V100 PCIe"; "GTX 1080 Ti" is a name as a whole. */
static void family_of(const char *label, char *out, size_t size)
{
	size_t first = strcspn(label, " ");
	bool model = false;

	for (size_t i = 0; i < first; i++)
		model = model || isdigit((unsigned char)label[i]);
	snprintf(out, size, "%.*s", (int)(model ? first : strlen(label)), label);
}

static struct architecture_line *architectures_line_of(struct architectures *a,
						       const struct reference_card *card)
{
	char family[sizeof(a->lines->label)];

	family_of(card->label, family, sizeof(family));
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->lines[i].label, family) == 0)
			return a->lines[i].card_count < MEMBERS_MOST ? &a->lines[i] : NULL;
	if (a->count == LINES_MOST)
		return NULL;
	a->lines[a->count] = (struct architecture_line){
		.architecture = card->gpu ? gpu_words(card->gpu, "architecture") : "",
		.year = card->gpu ? gpu_figure(card->gpu, "year") : (double)NAN,
	};
	snprintf(a->lines[a->count].label, sizeof(a->lines->label), "%s", family);
	return &a->lines[a->count++];
}

static void architectures_fill_line(const struct architectures *a, struct architecture_line *line)
{
	for (size_t q = 0; q < QUESTIONS; q++) {
		for (size_t i = 0; i < line->card_count; i++) {
			for (const char *const *name = questions[q].quantities; *name; name++) {
				const struct reference_row *row =
					reference_row(a->r, *name,
						      view_string(questions[q].workload));
				enum provenance kind;
				const struct reference_value *value =
					reference_best(row, line->cards[i], &kind);

				if (!value || (line->answers[q].row &&
					       (kind > line->answers[q].kind ||
						(kind == line->answers[q].kind &&
						 value->value <= line->answers[q].value->value))))
					continue;
				line->answers[q] =
					(struct answer){ row, value, kind, line->cards[i],
							 reference_peak(a->r, row,
									line->cards[i]) };
			}
		}
		line->answered += line->answers[q].row != NULL;
	}
}

/* True if another line represents the same architecture with more answers. */
static bool is_covered(const struct architectures *a, const struct architecture_line *line)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct architecture_line *other = &a->lines[i];

		if (other == line || other->measured ||
		    strcmp(other->architecture, line->architecture) != 0)
			continue;
		if (other->answered > line->answered ||
		    (other->answered == line->answered && other < line))
			return true;
	}
	return false;
}

static int by_year(const void *a, const void *b)
{
	const struct architecture_line *p = a, *q = b;
	double x = isfinite(p->year) ? p->year : 9999, y = isfinite(q->year) ? q->year : 9999;

	return x != y ? (x > y) - (x < y)
		      : (p->cards[0] > q->cards[0]) - (p->cards[0] < q->cards[0]);
}

static bool architectures_has_card(const struct architecture_line *line, size_t card)
{
	for (size_t i = 0; i < line->card_count; i++)
		if (line->cards[i] == card)
			return true;
	return false;
}

/* The line that has most of the subject's answers; the oldest if several do. */
static void architectures_choose_baseline(struct architectures *a)
{
	size_t most = 0;

	a->subject = 0;
	for (size_t i = 0; i < a->count; i++)
		if (a->lines[i].measured)
			a->subject = i;
	a->baseline = a->subject;
	for (size_t i = 0; i < a->count; i++) {
		size_t common = 0;

		for (size_t q = 0; q < QUESTIONS; q++)
			common += a->lines[i].answers[q].row && a->lines[a->subject].answers[q].row;
		if (i != a->subject && common > most) {
			most = common;
			a->baseline = i;
		}
	}
	for (size_t i = 0; a->r->baseline_given && i < a->count; i++)
		if (architectures_has_card(&a->lines[i], a->r->baseline))
			a->baseline = i;
}

void architectures_collect(struct architectures *a, const struct report_reference *r)
{
	bool kept[LINES_MOST];
	size_t count;

	*a = (struct architectures){ .r = r };
	for (size_t i = 0; i < r->card_count; i++) {
		struct architecture_line *line = architectures_line_of(a, &r->cards[i]);

		if (!line)
			continue;
		line->cards[line->card_count++] = i;
		line->measured = line->measured || r->cards[i].measured;
	}
	for (size_t i = 0; i < a->count; i++)
		architectures_fill_line(a, &a->lines[i]);
	/* Leaves out lines without an answer, and those for which another one stands. */
	count = 0;
	for (size_t i = 0; i < a->count; i++) {
		const struct architecture_line *line = &a->lines[i];

		kept[i] = line->measured || (line->answered && !is_covered(a, line));
	}
	for (size_t i = 0; i < a->count; i++)
		if (kept[i])
			a->lines[count++] = a->lines[i];
	a->count = count;
	qsort(a->lines, a->count, sizeof(*a->lines), by_year);
	architectures_choose_baseline(a);
}

double architectures_ratio(const struct architectures *a, size_t line, size_t question)
{
	const struct answer *own = &a->lines[line].answers[question];
	const struct answer *base = &a->lines[a->baseline].answers[question];

	return own->row && base->row && base->value->value > 0
		       ? own->value->value / base->value->value
		       : (double)NAN;
}
