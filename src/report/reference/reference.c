#include "report/reference/reference.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "report/view/presented.h"

static struct reference_card *report_reference_add_card(struct report_reference *r,
							const struct gpu *gpu, const char *label)
{
	ARRAY_GROW(r->cards, r->card_count, r->card_capacity);
	r->cards[r->card_count] =
		(struct reference_card){ .gpu = gpu, .label = format_label(label, 20) };
	return &r->cards[r->card_count++];
}

static const struct reference_card *report_reference_card_of(const struct report_reference *r,
							     const struct device_info *info)
{
	const struct gpu *gpu = gpus_by_device(info->name);
	struct formatted label = view_device_name(info->name);

	for (size_t i = 0; i < r->card_count; i++)
		if (gpu ? r->cards[i].gpu == gpu
			: !r->cards[i].gpu && strcmp(r->cards[i].label, label.text) == 0)
			return &r->cards[i];
	return NULL;
}

/* True if the list "k80, v100-pcie" has the id. */
static bool report_reference_gpu_id_is_listed(const char *list, const char *id)
{
	size_t length = strlen(id);

	for (const char *p = list; *p; p += strcspn(p, ",")) {
		p += strspn(p, ", ");
		if (strncmp(p, id, length) == 0 && (!p[length] || strchr(", ", p[length])))
			return true;
	}
	return false;
}

/* Appends the ids that start so: " or 'v100-sxm2'". */
static void report_reference_add_ids(struct text *words, const struct gpu *gpus, size_t count,
				     const char *start)
{
	for (size_t i = 0; i < count; i++)
		if (text_starts_with(gpus[i].id, start))
			text_addf(words, "%s'%s'", words->length ? " or " : "; did you mean ",
				  gpus[i].id);
}

/*
 * The nearest of the families, "v100" of v100-pcie and v100-sxm2; else the nearest id. malloc'ed;
 * NULL: none is near.
 */
static char *report_reference_nearest_start(const char *id, const struct gpu *gpus, size_t count)
{
	const char **families = xcalloc(count + 1, sizeof(*families)),
		   **names = xcalloc(count + 1, sizeof(*names)), *near;
	char *start;

	for (size_t i = 0; i < count; i++) {
		names[i] = gpus[i].id;
		families[i] = xstrndup(gpus[i].id, strcspn(gpus[i].id, "-"));
	}
	near = text_nearest(id, families);
	if (!near)
		near = text_nearest(id, names);
	start = near ? xstrdup(near) : NULL;
	for (size_t i = 0; i < count; i++)
		free((char *)families[i]);
	free(families);
	free(names);
	return start;
}

/*
 * Suggestions for an unknown id, as text for a message: v100-pcie and v100-sxm2 for "v100". The
 * caller frees.
 */
static char *report_reference_likely_ids(const char *id)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);
	struct text words = TEXT_EMPTY;
	char *start;

	report_reference_add_ids(&words, gpus, count, id);
	start = words.length ? NULL : report_reference_nearest_start(id, gpus, count);
	if (start)
		report_reference_add_ids(&words, gpus, count, start);
	free(start);
	text_add(&words, words.length ? "?" : "");
	return text_detach(&words);
}

/* "kepler" selects all GPUs of that architecture. */
static bool report_reference_is_architecture(const char *word)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	for (size_t i = 0; i < count; i++)
		if (strcasecmp(gpu_words(&gpus[i], "architecture"), word) == 0)
			return true;
	return false;
}

static bool report_reference_architecture_listed(const char *list, const struct gpu *gpu)
{
	char *name = xstrdup(gpu_words(gpu, "architecture"));
	bool found;

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	found = *name && (report_reference_gpu_id_is_listed(list, name) ||
			  report_reference_gpu_id_is_listed(list, gpu_words(gpu, "architecture")));
	free(name);
	return found;
}

static enum status report_reference_check_id(const char *id, struct error *err)
{
	char *likely;

	if (gpus_by_id(id))
		return STATUS_OK;
	likely = report_reference_likely_ids(id);
	error_set(err, STATUS_USAGE, "there is no reference GPU '%.40s'%s (gpuproof list gpus)", id,
		  likely);
	free(likely);
	return STATUS_USAGE;
}

static enum status report_reference_check_ids(const char *list, struct error *err)
{
	char *copy = xstrdup(list), *rest = NULL;
	enum status status = STATUS_OK;

	for (char *id = strtok_r(copy, ", ", &rest); id && status == STATUS_OK;
	     id = strtok_r(NULL, ", ", &rest))
		if (strcmp(id, "all") != 0 && !report_reference_is_architecture(id))
			status = report_reference_check_id(id, err);
	free(copy);
	return status;
}

enum status report_reference_check(const char *gpus, const char *baseline, struct error *err)
{
	if (report_reference_check_ids(gpus, err) == STATUS_OK && *baseline)
		report_reference_check_id(baseline, err);
	return err->status;
}

static bool report_reference_is_measured(const struct view *view, const struct gpu *gpu)
{
	for (size_t s = 0; s < view->source_count; s++)
		if (view->sources[s].info && gpus_by_device(view->sources[s].info->name) == gpu)
			return true;
	return false;
}

/* Those asked for and those measured, oldest architecture first; then unknown devices. */
static void report_reference_add_cards(struct report_reference *r, const char *list,
				       const char *baseline)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);
	bool all = report_reference_gpu_id_is_listed(list, "all");

	for (size_t i = 0; i < count; i++) {
		bool measured = report_reference_is_measured(r->view, &gpus[i]);

		if (all || measured || report_reference_gpu_id_is_listed(list, gpus[i].id) ||
		    report_reference_architecture_listed(list, &gpus[i]) ||
		    strcmp(baseline, gpus[i].id) == 0)
			report_reference_add_card(r, &gpus[i], gpus[i].label)->measured = measured;
	}
	for (size_t s = 0; s < r->view->source_count; s++) {
		const struct device_info *info = r->view->sources[s].info;
		struct formatted label;

		if (!info || report_reference_card_of(r, info))
			continue;
		label = view_device_name(info->name);
		report_reference_add_card(r, NULL, label.text)->measured = true;
	}
	for (size_t i = 0; i < r->card_count; i++)
		if (r->cards[i].gpu && strcmp(r->cards[i].gpu->id, baseline) == 0)
			r->baseline = i;
}

static struct reference_row *report_reference_row_for(struct report_reference *r,
						      const struct quantity *quantity,
						      const char *workload, int devices)
{
	struct reference_row *row;

	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].quantity == quantity && r->rows[i].devices == devices &&
		    strcmp(r->rows[i].workload, workload) == 0)
			return &r->rows[i];
	ARRAY_GROW(r->rows, r->row_count, r->row_capacity);
	row = &r->rows[r->row_count++];
	*row = (struct reference_row){ .quantity = quantity,
				       .workload = workload,
				       .devices = devices,
				       .cells = xcalloc(r->card_count + 1, sizeof(*row->cells)) };
	for (size_t i = 0; i < r->card_count; i++)
		for (size_t k = 0; k < PROVENANCES; k++)
			row->cells[i][k] = (struct reference_value){ NAN, NAN, NAN, NULL };
	return row;
}

static void report_reference_keep_best(struct reference_value *cell, enum better better,
				       struct reference_value value)
{
	if (!isfinite(cell->value) ||
	    (better == BETTER_LOWER ? value.value < cell->value : value.value > cell->value))
		*cell = value;
}

static enum provenance report_reference_provenance_of(const struct result *result)
{
	for (size_t i = 0; i < result->environment_count; i++)
		if (strcmp(view_string(result->environment[i].name), "provenance") == 0 &&
		    text_starts_with(view_string(result->environment[i].value), "imported"))
			return IMPORTED;
	return MEASURED;
}

static void report_reference_add_case(struct report_reference *r, size_t run,
				      const struct case_result *c)
{
	const struct view_source *source = &r->view->sources[view_source_of(r->view, run, c)];
	const struct reference_card *card =
		source->info ? report_reference_card_of(r, source->info) : NULL;
	enum provenance provenance = report_reference_provenance_of(source->result);
	const struct presentation shown = view_presentation(r->view, view_string(c->suite));

	for (size_t m = 0; card && m < c->metric_count; m++) {
		const struct metric_value *metric = &c->metrics[m];
		const struct sheet_row *sheet =
			quantity_sheet_row_of_case(shown.sheet, c, view_string(metric->name),
						   source->info);
		const struct quantity *q =
			sheet && sheet->quantity ? quantity_find(sheet->quantity) : NULL;
		double factor = sheet && sheet->factor != 0 ? sheet->factor : 1;

		if (q && isfinite(metric->value))
			report_reference_keep_best(
				&report_reference_row_for(r, q, view_string(sheet->workload),
							  q->together ? (int)c->device_count : 1)
					 ->cells[card - r->cards][provenance],
				q->better,
				(struct reference_value){ metric->value * factor,
							  metric->low * factor,
							  metric->high * factor, NULL });
	}
}

static int report_reference_row_order(const void *a, const void *b)
{
	const struct reference_row *p = a, *q = b;
	int by_workload = strcmp(p->workload, q->workload);

	if (p->quantity != q->quantity)
		return p->quantity < q->quantity ? -1 : 1;
	return by_workload ? by_workload : p->devices - q->devices;
}

enum status report_reference_collect(struct report_reference *r, const struct view *view,
				     const char *gpus, const char *baseline, struct error *err)
{
	*r = (struct report_reference){ .view = view, .baseline_given = *baseline != '\0' };
	if (report_reference_check(gpus, baseline, err) != STATUS_OK)
		return err->status;
	report_reference_add_cards(r, gpus, baseline);
	for (size_t i = 0; i < r->card_count; i++) {
		const struct gpu *gpu = r->cards[i].gpu;

		for (size_t k = 0; gpu && k < gpu->published_count; k++) {
			const struct published *p = &gpu->published[k];
			struct reference_row *row =
				report_reference_row_for(r, p->quantity, p->workload, p->devices);
			double end = p->quantity->better == BETTER_LOWER ? p->low : p->high;

			/* The better end of a range counts, as the best of several values does. */
			report_reference_keep_best(&row->cells[i][PUBLISHED], p->quantity->better,
						   (struct reference_value){
							   isfinite(end) ? end : p->value, p->low,
							   p->high, p });
		}
	}
	for (size_t run = 0; run < view->count; run++)
		for (size_t i = 0; i < view->results[run].case_count; i++)
			if (view->results[run].cases[i].status == CASE_OK)
				report_reference_add_case(r, run, &view->results[run].cases[i]);
	if (r->row_count)
		qsort(r->rows, r->row_count, sizeof(*r->rows), report_reference_row_order);
	return STATUS_OK;
}

void report_reference_release(struct report_reference *r)
{
	for (size_t i = 0; i < r->card_count; i++)
		free(r->cards[i].label);
	for (size_t i = 0; i < r->row_count; i++)
		free(r->rows[i].cells);
	free(r->cards);
	free(r->rows);
	*r = (struct report_reference){ 0 };
}

const struct reference_row *report_reference_row(const struct report_reference *r,
						 const char *quantity, const char *workload)
{
	for (size_t i = 0; i < r->row_count; i++)
		if (strcmp(r->rows[i].quantity->name, quantity) == 0 && r->rows[i].devices == 1 &&
		    strcmp(r->rows[i].workload, workload) == 0)
			return &r->rows[i];
	return NULL;
}

const struct reference_value *report_reference_best(const struct reference_row *row, size_t card,
						    enum provenance *provenance)
{
	for (size_t k = 0; row && k < PROVENANCES; k++) {
		if (isfinite(row->cells[card][k].value)) {
			*provenance = (enum provenance)k;
			return &row->cells[card][k];
		}
	}
	return NULL;
}

double report_reference_peak(const struct report_reference *r, const struct reference_row *row,
			     size_t card)
{
	const struct sheet_entry *entry;

	return r->cards[card].gpu ? gpu_peak(r->cards[card].gpu, row->quantity, &entry)
				  : (double)NAN;
}

double report_reference_of_source(const struct report_reference *r, const struct reference_row *row,
				  size_t card, size_t source)
{
	const struct view_source *from = &r->view->sources[source];
	double best = NAN;

	if (!from->info || report_reference_card_of(r, from->info) != &r->cards[card])
		return NAN;
	for (size_t i = 0; i < from->result->case_count; i++) {
		const struct case_result *c = &from->result->cases[i];
		const struct presentation shown = view_presentation(r->view, view_string(c->suite));

		for (size_t m = 0; c->status == CASE_OK && m < c->metric_count; m++) {
			const struct metric_value *metric = &c->metrics[m];
			const struct sheet_row *sheet =
				quantity_sheet_row_of_case(shown.sheet, c,
							   view_string(metric->name), from->info);
			double value =
				metric->value * (sheet && sheet->factor != 0 ? sheet->factor : 1);

			if (view_source_of(r->view, from->run, c) == source && sheet &&
			    sheet->quantity && strcmp(sheet->quantity, row->quantity->name) == 0 &&
			    strcmp(view_string(sheet->workload), row->workload) == 0 &&
			    isfinite(value) && !(value <= best))
				best = value;
		}
	}
	return best;
}
