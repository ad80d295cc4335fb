/*
 * The answer of a page about architectures: what the measured card is to older ones in one
 * sentence, and a small chart for each question with one card per architecture, the oldest first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/chart/chart.h"
#include "report/reference/reference.h"
#include "report/view/format.h"

static const struct {
	const char *title, *does;
	const char *quantities[5]; /* the best of these counts */
	const char *means;
	const char *workload; /* of the quantities; NULL: none */
} questions[] = {
	{ "Memory bandwidth",
	  "reads and writes memory",
	  { "memory_triad", "memory_copy", "memory_scale", "device_copy" },
	  "The best of STREAM's operations and copies within the device" },
	{ "FP32 products", "multiplies FP32 matrices", { "gemm_fp32" }, "Matrix product in FP32" },
	{ "FP16 products",
	  "FP16 matrices",
	  { "gemm_fp16_tensor", "gemm_fp16", "gemm_fp16_storage" },
	  "Matrix product in FP16 by the card's fastest method: tensor cores, else FP16 "
	  "arithmetic, else FP16 storage" },
	{ "Link to the host",
	  "copies from the host",
	  { "host_to_device" },
	  "Page-locked memory, host to device" },
	{ "Link between GPUs",
	  "copies to another GPU",
	  { "peer_copy" },
	  "Copy from one GPU to another, one direction" },
	{ "Training in FP32",
	  "trains a ResNet-50 in FP32",
	  { "training_rate" },
	  "A ResNet-50, images of 224 × 224 per second, one GPU",
	  "ResNet-50, FP32" },
};

struct found {
	const struct reference_row *row;
	const struct reference_value *value;
	enum provenance kind;
};

/* The best value of a card; measured ones before published ones. False: it has none. */
static bool find(const struct report_reference *r, size_t question, size_t card,
		 struct found *found)
{
	*found = (struct found){ NULL, NULL, PROVENANCES };
	for (const char *const *name = questions[question].quantities; *name; name++) {
		const struct reference_row *row =
			reference_row(r, *name, view_string(questions[question].workload));
		enum provenance kind;
		const struct reference_value *value = reference_best(row, card, &kind);

		if (value && (kind < found->kind ||
			      (kind == found->kind && value->value > found->value->value)))
			*found = (struct found){ row, value, kind };
	}
	return found->value != NULL;
}

static const char *architecture(const struct report_reference *r, size_t card)
{
	const struct gpu *gpu = r->cards[card].gpu;

	return gpu ? gpu_words(gpu, "architecture") : r->cards[card].label;
}

/*
 * True if a card stands for its architecture, wherever possible the same one in all charts:
 * measured here, else the first.
 */
static bool stands(const struct report_reference *r, size_t question, size_t card,
		   const struct found *found)
{
	for (size_t i = 0; i < r->card_count; i++) {
		struct found other;

		if (i != card && strcmp(architecture(r, i), architecture(r, card)) == 0 &&
		    find(r, question, i, &other) &&
		    (other.kind < found->kind || (other.kind == found->kind && i < card)))
			return false;
	}
	return true;
}

/* The newest measured card that answers; card_count: none does. */
static size_t subject_of(const struct report_reference *r, size_t question)
{
	struct found found;

	for (size_t i = r->card_count; i-- > 0;)
		if (find(r, question, i, &found) && found.kind != PUBLISHED)
			return i;
	return r->card_count;
}

static void add_point(const struct report_reference *r, size_t card, const struct found *found,
		      struct chart_series *series)
{
	char *name = xasprintf("%s %s", r->cards[card].label, provenance_mark(found->kind));
	struct chart_point *point = chart_point_new(series, name);

	free(name);
	point->y = found->value->value;
	point->low = found->value->low;
	point->high = found->value->high;
	point->n = 1;
	point->look = found->kind == MEASURED ? CHART_SOLID : CHART_HOLLOW;
	point->ideal = reference_peak(r, found->row, card);
}

/* "21.6 times as fast as K80"; "" where there is nothing to compare. */
static char *against_oldest(const struct report_reference *r, size_t question)
{
	size_t subject = subject_of(r, question);
	struct found own, other;
	char ratio[FORMAT_SIZE];

	if (subject == r->card_count || !find(r, question, subject, &own))
		return xstrdup("");
	for (size_t i = 0; i < r->card_count; i++)
		if (i != subject && find(r, question, i, &other) && other.value->value > 0)
			return xasprintf("%s as fast as %s",
					 format_ratio(own.value->value / other.value->value, ratio,
						      sizeof(ratio)),
					 r->cards[i].label);
	return xstrdup("");
}

static void draw_question(const struct report_reference *r, size_t question, struct tree *charts)
{
	char *against = against_oldest(r, question);
	size_t subject = subject_of(r, question);
	struct chart_series *series;
	struct chart chart;

	chart_init(&chart, CHART_BARS);
	chart.id = xasprintf("generations-%zu", question + 1);
	chart.title = *against ? xasprintf("%s: %s is %s", questions[question].title,
					   r->cards[subject].label, against)
			       : xstrdup(questions[question].title);
	free(against);
	chart.shows = xasprintf("%s. ● measured here, solid; ○ published, hollow; ¦ data sheet.",
				questions[question].means);
	chart.finding = xstrdup("");
	chart.x_name = xstrdup("");
	chart.x_unit = xstrdup("");
	chart.y_name = xstrdup(questions[question].title);
	chart.better = BETTER_HIGHER;
	chart.note = xstrdup("");
	series = chart_series_named(&chart, "");
	for (size_t i = 0; i < r->card_count; i++) {
		struct found found;

		if (!find(r, question, i, &found) || !stands(r, question, i, &found))
			continue;
		if (!chart.y_unit)
			chart.y_unit = xstrdup(found.row->quantity->unit);
		add_point(r, i, &found, series);
	}
	if (series->count > 1 && subject < r->card_count)
		chart_draw(&chart, charts);
	chart_release(&chart);
}

#define CARDS_NAMED 4

char *reference_title(const struct report_reference *r)
{
	struct text measured = TEXT_EMPTY, others = TEXT_EMPTY;
	size_t count = 0;
	char *title;

	for (size_t i = 0; i < r->card_count; i++) {
		struct text *out = r->cards[i].measured ? &measured : &others;

		text_addf(out, "%s%s", out->length ? ", " : "", r->cards[i].label);
		count += !r->cards[i].measured;
	}
	if (!measured.length || !count)
		title = NULL;
	else if (count <= CARDS_NAMED)
		title = xasprintf("%s next to %s", measured.data, others.data);
	else
		title = xasprintf("%s next to %zu other GPUs", measured.data, count);
	text_release(&measured);
	text_release(&others);
	return title;
}

void reference_lead(const struct report_reference *r, struct tree *page)
{
	struct tree *charts = tree_list(page, "lead_charts");
	struct text words = TEXT_EMPTY;

	for (size_t q = 0; q < ARRAY_SIZE(questions); q++) {
		char *against = against_oldest(r, q);

		if (*against && !words.length)
			text_addf(&words, "%s ", r->cards[subject_of(r, q)].label);
		else if (*against)
			text_add(&words, ", ");
		if (*against)
			text_addf(&words, "%s %s", questions[q].does, against);
		free(against);
		draw_question(r, q, charts);
	}
	if (words.length)
		text_add_char(&words, '.');
	tree_flag(page, "has_lead", words.length || charts->count);
	tree_text_owned(page, "lead", text_detach(&words));
}
