/* Selects the cards that represent their architectures, and the best value of each. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/chart.h"
#include "report/reference/reference.h"

/*
 * Growth over the years: a line for each question, in multiples of the baseline on a logarithmic
 * axis, drawn for two widths. A card without a figure is no point of the line.
 */

#define TOP 14.0
#define HEIGHT 250.0 /* px from the top of the axis to its bottom */
#define BELOW 36.0
#define LABEL_ROW 16.0
#define LEAST_POWER 100.0  /* W: below, a card is of another class than its architecture's others */
#define NAME_CHARACTER 8.5 /* px: bold, 13 px */
#define NAME_APART 6.0     /* px between names of cards */
#define LEAST_CARDS 3      /* a line through two points shows less than the matrix */

struct growth {
	const struct architectures *a;
	double left, right, width;
	double first, last; /* years */
	struct extent ratios;
	double label_y[QUESTIONS];
};

static double architectures_growth_x(const struct growth *g, size_t line)
{
	double year = g->a->lines[line].year, span = g->last - g->first;

	return g->left +
	       (g->right - g->left) *
		       (span > 0 ? (fmin(fmax(year, g->first), g->last) - g->first) / span : 0.5);
}

static double architectures_growth_y(const struct growth *g, double ratio)
{
	double low = log2(g->ratios.min), high = log2(g->ratios.max);

	return TOP + HEIGHT * (1 - (log2(ratio) - low) / (high - low));
}

static bool architectures_growth_line_is_drawn(const struct growth *g, size_t line, size_t question,
					       double *ratio)
{
	const struct gpu *gpu = g->a->r->cards[g->a->lines[line].cards[0]].gpu;

	*ratio = architectures_ratio(g->a, line, question);
	return *ratio > 0 && isfinite(g->a->lines[line].year) && gpu &&
	       !(gpu_figure(gpu, "power") < LEAST_POWER);
}

/* Names of cards that would touch the one before them are left out: the matrix has all. */
static void architectures_growth_add_names(const struct growth *g, struct tree *map)
{
	struct tree *names = tree_list(map, "names");
	double from = -HUGE_VAL;

	for (size_t i = 0; i < g->a->count; i++) {
		const struct architecture_line *line = &g->a->lines[i];
		double half = NAME_CHARACTER * (double)chart_characters(line->label) / 2;
		double x, ratio;
		struct tree *name;
		bool any = false;

		for (size_t q = 0; q < QUESTIONS; q++)
			any = any || architectures_growth_line_is_drawn(g, i, q, &ratio);
		if (!any)
			continue;
		x = fmax(half, architectures_growth_x(g, i));
		if (x - half < from)
			continue;
		from = x + half + NAME_APART;
		name = tree_item(names);
		chart_coordinate(name, "x", x);
		tree_text(name, "name", line->label);
		tree_textf(name, "year", "%.0f", line->year);
	}
}

/* The last point of a question's line; SIZE_MAX: none. */
static size_t architectures_growth_last_of(const struct growth *g, size_t question, double *ratio)
{
	size_t last = SIZE_MAX;
	double one;

	for (size_t i = 0; i < g->a->count; i++)
		if (architectures_growth_line_is_drawn(g, i, question, &one)) {
			last = i;
			*ratio = one;
		}
	return last;
}

struct end {
	size_t question;
	double y;
};

static int architectures_ends_by_height(const void *a, const void *b)
{
	const struct end *p = a, *q = b;

	return (p->y > q->y) - (p->y < q->y);
}

/* Labels in the order of the lines' ends, a row apart. */
static void architectures_growth_place_labels(struct growth *g)
{
	struct end ends[QUESTIONS];
	size_t count = 0;
	double ratio, free_from = TOP;

	for (size_t q = 0; q < QUESTIONS; q++)
		if (architectures_growth_last_of(g, q, &ratio) != SIZE_MAX)
			ends[count++] = (struct end){ q, architectures_growth_y(g, ratio) };
	qsort(ends, count, sizeof(*ends), architectures_ends_by_height);
	for (size_t i = 0; i < count; i++) {
		double latest = TOP + HEIGHT - LABEL_ROW * (double)(count - 1 - i);

		g->label_y[ends[i].question] = fmin(fmax(ends[i].y, free_from), latest);
		free_from = g->label_y[ends[i].question] + LABEL_ROW;
	}
}

static void architectures_growth_add_line(const struct growth *g, size_t question,
					  struct tree *list)
{
	struct text path = TEXT_EMPTY, solid = TEXT_EMPTY, hollow = TEXT_EMPTY;
	double ratio, end = NAN;
	size_t points = 0, last = 0;
	struct tree *map;

	for (size_t i = 0; i < g->a->count; i++) {
		if (!architectures_growth_line_is_drawn(g, i, question, &ratio))
			continue;
		text_addf(&path, "%c%.1f %.1f", points++ ? 'L' : 'M', architectures_growth_x(g, i),
			  architectures_growth_y(g, ratio));
		chart_marker(g->a->lines[i].answers[question].kind == PUBLISHED ? &hollow : &solid,
			     0, architectures_growth_x(g, i), architectures_growth_y(g, ratio));
		end = ratio;
		last = i;
	}
	if (points > 1) {
		bool is_newest = architectures_growth_x(g, last) >= g->right;

		map = tree_item(list);
		/* Labels stand at the newest card; a line that ends before names its last. */
		if (is_newest)
			tree_text(map, "name", questions[question].title);
		else
			tree_textf(map, "name", "%.*s, %s",
				   (int)strcspn(questions[question].title, ","),
				   questions[question].title, g->a->lines[last].label);
		tree_textf(map, "ratio", "%.3g×", end);
		tree_text(map, "colour", chart_key_style(question)->colour);
		tree_text(map, "path", path.data);
		tree_text(map, "solid", solid.data ? solid.data : "");
		tree_text(map, "hollow", hollow.data ? hollow.data : "");
		chart_coordinate(map, "label_y", g->label_y[question] + 4);
	}
	text_release(&path);
	text_release(&solid);
	text_release(&hollow);
}

static void architectures_growth_draw(struct growth *g, const char *class, struct tree *list)
{
	struct tree *map = tree_item(list), *lines;
	struct tree *ticks;

	architectures_growth_place_labels(g);
	tree_text(map, "class", class);
	chart_coordinate(map, "width", g->width);
	chart_coordinate(map, "height", TOP + HEIGHT + BELOW);
	chart_coordinate(map, "left", g->left);
	chart_coordinate(map, "right", g->right);
	chart_coordinate(map, "label_x", g->right + 10);
	chart_coordinate(map, "tick_x", g->left - 6);
	chart_coordinate(map, "name_y", TOP + HEIGHT + 18);
	chart_coordinate(map, "year_y", TOP + HEIGHT + 32);
	ticks = tree_list(map, "ticks");
	for (double r = g->ratios.min; r <= g->ratios.max * 1.001; r *= 2) {
		struct tree *tick = tree_item(ticks);

		chart_coordinate(tick, "at", architectures_growth_y(g, r));
		chart_coordinate(tick, "text_y", architectures_growth_y(g, r) + 4);
		if (r < 1)
			tree_textf(tick, "label", "1/%.0f", 1 / r);
		else
			tree_textf(tick, "label", "%.0f×", r);
		tree_text(tick, "ink", r == 1 ? "#777777" : "#dddddd");
	}
	architectures_growth_add_names(g, map);
	lines = tree_list(map, "lines");
	for (size_t q = 0; q < QUESTIONS; q++)
		architectures_growth_add_line(g, q, lines);
}

void architectures_growth(const struct architectures *a, struct tree *page)
{
	struct tree *list = tree_list(page, "growth");
	struct growth g = { .a = a };
	double ratio;
	size_t cards = 0;
	bool drawn;

	g.first = INFINITY;
	g.last = -INFINITY;
	g.ratios = (struct extent)EXTENT_EMPTY;
	for (size_t i = 0; i < g.a->count; i++) {
		size_t answers = 0;

		for (size_t q = 0; q < QUESTIONS; q++)
			if (architectures_growth_line_is_drawn(&g, i, q, &ratio)) {
				g.first = fmin(g.first, g.a->lines[i].year);
				g.last = fmax(g.last, g.a->lines[i].year);
				scale_extent_add(&g.ratios, ratio);
				answers++;
			}
		cards += answers != 0;
	}
	g.ratios.min = exp2(floor(log2(g.ratios.min) - 0.01));
	g.ratios.max = exp2(ceil(log2(g.ratios.max) + 0.01));
	drawn = cards >= LEAST_CARDS && g.last > g.first && a->baseline != a->subject;
	tree_flag(page, "has_growth", drawn);
	if (!drawn)
		return;
	g.width = 860;
	g.left = 44;
	g.right = 690;
	architectures_growth_draw(&g, "wide-only", list);
	g.width = 360;
	g.left = 36;
	g.right = 196;
	architectures_growth_draw(&g, "narrow-only", list);
}

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
static void architectures_family_of(const char *label, char *out, size_t size)
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

	architectures_family_of(card->label, family, sizeof(family));
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
					report_reference_row(a->r, *name,
							     view_string(questions[q].workload));
				enum provenance kind;
				const struct reference_value *value =
					report_reference_best(row, line->cards[i], &kind);

				if (!value || (line->answers[q].row &&
					       (kind > line->answers[q].kind ||
						(kind == line->answers[q].kind &&
						 value->value <= line->answers[q].value->value))))
					continue;
				line->answers[q] =
					(struct answer){ row, value, kind, line->cards[i],
							 report_reference_peak(a->r, row,
									       line->cards[i]) };
			}
		}
		line->answered += line->answers[q].row != NULL;
	}
}

/* True if another line represents the same architecture with more answers. */
static bool architectures_is_covered(const struct architectures *a,
				     const struct architecture_line *line)
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

static int architectures_by_year(const void *a, const void *b)
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

		kept[i] = line->measured || (line->answered && !architectures_is_covered(a, line));
	}
	for (size_t i = 0; i < a->count; i++)
		if (kept[i])
			a->lines[count++] = a->lines[i];
	a->count = count;
	qsort(a->lines, a->count, sizeof(*a->lines), architectures_by_year);
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
