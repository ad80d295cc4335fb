#include "cli/output/print.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "history/fleet/trend_pool.h"
#include "history/triage.h"
#include "result/json/json_writer.h"

#define MOST_DATES 12 /* maximum number of missed nights that are printed */
#define GAPS 2 /* nights without a value that deserve a line: a single one is reported by its run */

/* Appends a line. */
static void print_trend_note(struct text *out, const struct history_note *n)
{
	char date[16], *words;

	history_date(n->day, date);
	if (n->state) {
		words = triage_note_words(n);
		text_addf(out, "decision %s: %s\n", date, words);
		free(words);
		return;
	}
	text_addf(out, "note %s: %s%s\n", date, n->text, n->acknowledges ? " (acknowledges)" : "");
}

void print_trend_notes(const struct history_notes *notes, int64_t series)
{
	struct text lines = TEXT_EMPTY;

	for (size_t i = 0; i < notes->count; i++)
		if (!notes->items[i].series || notes->items[i].series == series)
			print_trend_note(&lines, &notes->items[i]);
	fputs(lines.data ? lines.data : "", stdout);
	text_release(&lines);
}

struct printing {
	struct store *history;
	const struct trend_options *options;
	struct trend_summary *summary;
	struct history_notes notes;
	struct history_places places;
	struct trend_prior prior;
	struct seam_groups seams;
	struct trend_pools pools;
	struct json_writer json;
	struct text rows; /* text output, printed after the status line */
	struct error *err;
};

static void print_trend_differences_text(struct printing *p, int64_t before, int64_t after)
{
	struct fact_differences found = { 0 };

	trend_news_differences(p->history, before, after, &found, p->err);
	for (size_t i = 0; i < found.count; i++)
		text_addf(&p->rows, "      %s: %s -> %s\n", found.items[i].name,
			  found.items[i].before, found.items[i].after);
	trend_news_fact_differences_release(&found);
}

static void print_trend_change_text(struct printing *p, const struct history_series *s,
				    const struct trend_change *c)
{
	char date[32], before[48], after[48], *how = trend_news_found_words(c);

	history_moment(c->day, c->minute, date);
	text_addf(&p->rows, "    %s %s: %s -> %s, %.1f %% %s, %s\n",
		  trend_change_state_name(c->state), date,
		  units_format(c->before, s->unit, before, sizeof(before)),
		  units_format(c->after, s->unit, after, sizeof(after)), trend_percent(c),
		  trend_news_direction(s->better, c->ratio), how);
	free(how);
	if (c->decision) {
		char *words = triage_words(c->decision);

		text_addf(&p->rows, "      %s\n", words);
		free(words);
	}
	if (c->state != TREND_RECOVERED)
		print_trend_differences_text(p, c->night_before, c->night);
}

/* A seam without a change: what is known about the levels on both sides. */
static void print_trend_seam_text(struct printing *p, const struct history_series *s,
				  const struct trend_seam *seam)
{
	char *words = trend_news_seam_words(seam, s->better);

	text_addf(&p->rows, "    %s\n", words);
	print_trend_differences_text(p, seam->night_before, seam->night);
	free(words);
}

static void print_trend_series_text(struct printing *p, const struct history_series *s,
				    const struct trend *t)
{
	char median[48], *machine;

	text_addf(&p->rows, "%4" PRId64 "  %s %s", s->id, s->case_id, s->metric);
	if (*s->model)
		text_addf(&p->rows, ", %s", s->model);
	machine = history_machine_words(&p->places, s->machine);
	text_addf(&p->rows, " (%s)\n", machine);
	free(machine);
	text_addf(&p->rows, "    %zu run%s, median %s, %zu missed%s\n", t->count,
		  t->count == 1 ? "" : "s",
		  units_format(t->median, s->unit, median, sizeof(median)), t->missed,
		  trend_is_young(t) && !t->change_count ? "; too few runs to find a change" : "");
	if (t->warning) {
		char *words = trend_news_warning_words(t->beyond, t->beyond_by, t->band);

		text_addf(&p->rows, "    %s\n", words);
		free(words);
	}
	if (t->gaps >= GAPS)
		text_addf(&p->rows,
			  "    no value in the last %zu runs: the case was skipped or failed\n",
			  t->gaps);
	for (size_t i = 0; i < t->change_count; i++)
		print_trend_change_text(p, s, &t->changes[i]);
	for (size_t i = 0; i < t->seam_count; i++)
		if (trend_seam_is_recent(t, &t->seams[i]) && !t->seams[i].differs)
			print_trend_seam_text(p, s, &t->seams[i]);
	for (size_t i = 0; i < p->notes.count; i++) {
		if (p->notes.items[i].series != s->id)
			continue;
		text_add(&p->rows, "    ");
		print_trend_note(&p->rows, &p->notes.items[i]);
	}
}

static void print_trend_change_json(struct printing *p, const struct trend_change *c)
{
	struct fact_differences found = { 0 };
	struct json_writer *w = &p->json;

	writer_open(w, '{');
	print_date_member(w, "date", c->day);
	writer_text_member(w, "state", trend_change_state_name(c->state));
	writer_text_member(w, "found", trend_news_found_name(c->found));
	if (c->decision) {
		char *words = triage_words(c->decision);

		writer_text_member(w, "decision", words);
		free(words);
	}
	writer_real_member(w, "before", c->before);
	writer_real_member(w, "after", c->after);
	writer_real_member(w, "ratio", c->ratio);
	writer_real_member(w, "probability", c->probability);
	writer_real_member(w, "log_odds", c->odds);
	writer_open_member(w, "environment", '[');
	trend_news_differences(p->history, c->night_before, c->night, &found, p->err);
	for (size_t i = 0; i < found.count; i++) {
		writer_open(w, '{');
		writer_text_member(w, "name", found.items[i].name);
		writer_text_member(w, "before", found.items[i].before);
		writer_text_member(w, "after", found.items[i].after);
		writer_close(w, '}');
	}
	trend_news_fact_differences_release(&found);
	writer_close(w, ']');
	writer_close(w, '}');
}

static void print_trend_seam_json(struct printing *p, const struct trend_seam *seam)
{
	struct json_writer *w = &p->json;
	char *what = trend_news_seam_what(p->history, seam->epoch_before, seam->epoch, p->err);

	writer_open(w, '{');
	print_date_member(w, "date", seam->day);
	writer_text_member(w, "what", what);
	writer_real_member(w, "ratio", seam->ratio);
	/* Factor of the 95 % interval around the ratio; null: too few nights. */
	writer_real_member(w, "within", exp(level_half(&seam->shift)));
	writer_bool_member(w, "differs", seam->differs);
	writer_close(w, '}');
	free(what);
}

static void print_trend_series_json(struct printing *p, const struct history_series *s,
				    const struct trend *t)
{
	struct json_writer *w = &p->json;
	const struct history_place *place;

	writer_open(w, '{');
	writer_count_member(w, "series", (size_t)s->id);
	writer_text_member(w, "case", s->case_id);
	writer_text_member(w, "metric", s->metric);
	writer_text_member(w, "unit", s->unit);
	writer_text_member(w, "model", s->model);
	writer_text_member(w, "machine", s->machine);
	place = history_place(&p->places, s->machine);
	writer_text_member(&p->json, "host", place ? place->host : "");
	writer_text_member(&p->json, "host_before", place ? place->host_before : "");
	writer_text_member(&p->json, "slot", place ? place->slot : "");
	writer_text_member(&p->json, "serial", place ? place->serial : "");
	writer_count_member(w, "nights", t->count);
	writer_count_member(w, "missed", t->missed);
	writer_real_member(w, "median", t->median);
	writer_real_member(w, "low", t->low);
	writer_real_member(w, "high", t->high);
	writer_bool_member(w, "warning", t->warning);
	writer_count_member(w, "beyond_band", t->beyond);
	writer_real_member(w, "beyond_by", t->beyond_by);
	writer_bool_member(w, "too_few_nights", trend_is_young(t));
	writer_open_member(w, "changes", '[');
	for (size_t i = 0; i < t->change_count; i++)
		print_trend_change_json(p, &t->changes[i]);
	writer_close(w, ']');
	writer_open_member(w, "seams", '[');
	for (size_t i = 0; i < t->seam_count; i++)
		print_trend_seam_json(p, &t->seams[i]);
	writer_close(w, ']');
	writer_close(w, '}');
}

static void print_trends_of_series(void *context, const struct history_series *s)
{
	struct printing *p = context;
	struct trend *trends;
	size_t n = trend_of_series(s, &p->notes, &p->prior, &trends);

	trend_pools_add(&p->pools, s);

	for (size_t i = 0; i < n; i++) {
		/* Changes of an older epoch are not reported. */
		if (!trends[i].current)
			continue;
		trend_news_seam_groups_add(&p->seams, p->history, s, &trends[i], p->err);
		if (!trend_news_count(p->summary, &trends[i]) && !p->options->all &&
		    trends[i].gaps < GAPS)
			continue;
		if (p->options->json)
			print_trend_series_json(p, s, &trends[i]);
		else
			print_trend_series_text(p, s, &trends[i]);
	}
	trends_release(trends, n);
}

static void print_trend_pool_json(struct printing *p, const struct trend_pool *pool)
{
	struct json_writer *w = &p->json;

	writer_open(w, '{');
	writer_text_member(w, "point", pool->series.case_id);
	writer_text_member(w, "metric", pool->series.metric);
	writer_text_member(w, "unit", pool->series.unit);
	writer_text_member(w, "model", pool->series.model);
	writer_count_member(w, "gpus", pool->gpus);
	writer_count_member(w, "gpus_of_last_nights", pool->recent);
	writer_count_member(w, "figures", pool->count);
	writer_real_member(w, "gpus_apart", pool->apart);
	writer_open_member(w, "changes", '[');
	for (size_t i = 0; i < pool->trend.change_count; i++)
		print_trend_change_json(p, &pool->trend.changes[i]);
	writer_close(w, ']');
	writer_close(w, '}');
}

/* Changes of each pool, before those of single GPUs. */
static void print_trend_pools_text(struct printing *p)
{
	struct text single = p->rows;

	p->rows = (struct text)TEXT_EMPTY;
	for (size_t i = 0; i < p->pools.count; i++) {
		const struct trend_pool *pool = &p->pools.items[i];

		if (!pool->trend.change_count)
			continue;
		text_addf(&p->rows, "pool  %s %s, %s (%zu GPUs)\n", pool->series.case_id,
			  pool->series.metric, pool->series.model, pool->recent);
		for (size_t k = 0; k < pool->trend.change_count; k++)
			print_trend_change_text(p, &pool->series, &pool->trend.changes[k]);
	}
	/* Rows without text stay empty: nothing changed. */
	if (single.data)
		text_add(&p->rows, single.data);
	text_release(&single);
}

/* `looked_at`: number of last nights; 0: all. */
static void print_trend_nights_text(const struct history_nights *nights, size_t looked_at,
				    const int64_t *missed, size_t missed_count)
{
	char date[16];

	if (nights->count) {
		char first[16], last[16], *hosts = trend_news_hosts(nights);

		history_date(nights->items[0].day, first);
		history_date(nights->items[nights->count - 1].day, last);
		printf("%zu run%s%s%s from %s to %s", nights->count, nights->count == 1 ? "" : "s",
		       *hosts ? " of " : "", hosts, first, last);
		if (looked_at && looked_at < nights->count)
			printf("; trend of the last %zu days", looked_at);
		free(hosts);
	} else
		printf("The history contains no runs");
	if (missed_count)
		printf("; %zu missed:", missed_count);
	for (size_t i = missed_count > MOST_DATES ? missed_count - MOST_DATES : 0; i < missed_count;
	     i++) {
		history_date(missed[i], date);
		printf(" %s", date);
	}
	printf("%s\n", missed_count > MOST_DATES ? " (only the last are listed)" : "");
}

/* Changes in the environment of the last nights that start no epoch: a program, a kernel. */
static size_t print_trend_environment_text(struct printing *p, const struct history_nights *nights)
{
	struct environment_change changes[MOST_ENVIRONMENT];
	size_t count = trend_news_environment(p->history, nights, changes, p->err);

	for (size_t i = 0; i < count; i++) {
		char date[16];

		history_date(changes[i].day, date);
		printf("Environment, %s:", date);
		for (size_t k = 0; k < changes[i].facts.count; k++)
			printf("%s %s %s -> %s", k ? "," : "", changes[i].facts.items[k].name,
			       changes[i].facts.items[k].before, changes[i].facts.items[k].after);
		putchar('\n');
		trend_news_fact_differences_release(&changes[i].facts);
	}
	return count;
}

/*
 * Prints what "no change" covers: an undecidable series is not quiet, and the environment may have
 * changed.
 */
static void print_trend_quiet_text(const struct printing *p, bool environment)
{
	const struct trend_summary *s = p->summary;

	if (s->young == s->series)
		printf("%s: finding a change needs %d runs with the same hardware, driver and "
		       "config. A change of %.0f %% or more is found after one.\n",
		       trend_pools_tell(&p->pools) ? "Cannot tell yet for single GPUs"
						   : "Cannot tell yet",
		       TREND_LEAST_NIGHTS, 100 * TREND_SUDDEN);
	else if (s->young)
		printf("%zu of %zu series have fewer than %d runs with the same hardware, driver "
		       "and config: too few to find a change.\n",
		       s->young, s->series, TREND_LEAST_NIGHTS);
	if (p->rows.data || s->young >= s->series)
		return;
	if (p->seams.count || environment)
		puts(s->young ? "The other series did not change, but the environment did."
			      : "No series changed, but the environment did.");
	else
		puts(s->young ? "The other series did not change." : "No series changed.");
}

static void print_trend_text(struct printing *p, const struct history_nights *nights,
			     const int64_t *missed, size_t missed_count)
{
	const struct trend_summary *s = p->summary;
	bool environment;

	print_trend_nights_text(nights, p->options->filter.nights, missed, missed_count);
	printf("%zu series: %zu new change%s (%zu for the worse), %zu warning%s, %zu acknowledged, "
	       "%zu recovered\n",
	       s->series, s->fresh, s->fresh == 1 ? "" : "s", s->worse, s->warnings,
	       s->warnings == 1 ? "" : "s", s->acknowledged, s->recovered);
	/* Printed first, because it has a date and a cause. */
	for (size_t i = 0; i < p->seams.count; i++) {
		char *words = trend_news_seam_group_words(&p->seams.items[i]);

		printf("%c%s\n", toupper((unsigned char)words[0]), words + 1);
		free(words);
	}
	for (size_t i = 0; i < p->pools.count;) {
		char *words = trend_pool_words(&p->pools, &i);

		printf("%s\n", words);
		free(words);
	}
	environment = print_trend_environment_text(p, nights);
	print_trend_notes(&p->notes, 0);
	putchar('\n');
	print_trend_quiet_text(p, environment);
	fputs(p->rows.data ? p->rows.data : "", stdout);
}

static void print_trend_notes_json(struct json_writer *w, const struct history_notes *notes)
{
	writer_open_member(w, "notes", '[');
	for (size_t i = 0; i < notes->count; i++) {
		const struct history_note *n = &notes->items[i];

		writer_open(w, '{');
		print_date_member(w, "date", n->day);
		if (n->series)
			writer_count_member(w, "series", (size_t)n->series);
		if (n->state) {
			writer_text_member(w, "decision", store_notes_triage_word(n->state));
			writer_text_member(w, "host", n->host);
			writer_text_member(w, "machine", n->machine);
		}
		writer_bool_member(w, "acknowledges", n->acknowledges);
		writer_text_member(w, "text", n->text);
		writer_text_member(w, "written", n->written);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static void print_trend_finish_json(struct printing *p, const int64_t *missed, size_t missed_count)
{
	struct json_writer *w = &p->json;
	char date[16];

	writer_close(w, ']');
	writer_open_member(w, "pools", '[');
	for (size_t i = 0; i < p->pools.count; i++)
		print_trend_pool_json(p, &p->pools.items[i]);
	writer_close(w, ']');
	writer_open_member(w, "missed", '[');
	for (size_t i = 0; i < missed_count; i++) {
		history_date(missed[i], date);
		writer_text(w, date);
	}
	writer_close(w, ']');
	print_trend_notes_json(w, &p->notes);
	writer_open_member(w, "seams", '[');
	for (size_t i = 0; i < p->seams.count; i++) {
		char *words = trend_news_seam_group_words(&p->seams.items[i]);

		writer_text(w, words);
		free(words);
	}
	writer_close(w, ']');
	writer_count_member(w, "too_few_nights", p->summary->young);
	writer_count_member(w, "series_looked_at", p->prior.series);
	writer_real_member(w, "log_odds_limit", trend_prior_limit(&p->prior));
	writer_count_member(w, "new_changes", p->summary->fresh);
	writer_count_member(w, "new_changes_for_the_worse", p->summary->worse);
	writer_count_member(w, "warnings", p->summary->warnings);
	writer_close(w, '}');
	print_json(w);
}

enum status print_trend(struct store *history, const struct trend_options *options,
			struct trend_summary *summary, struct error *err)
{
	struct printing p = { .history = history,
			      .options = options,
			      .summary = summary,
			      .json = { .expand = 3 },
			      .err = err };
	struct history_nights nights = { 0 };
	int64_t missed[MOST_MISSED];
	size_t missed_count = 0;

	memset(summary, 0, sizeof(*summary));
	if (store_notes(history, &p.notes, err) == STATUS_OK &&
	    store_nights(history, &nights, err) == STATUS_OK &&
	    store_nights_places(history, &p.places, err) == STATUS_OK &&
	    trend_prior_learn(&p.prior, history, &options->filter, err) == STATUS_OK) {
		p.notes.places = &p.places;
		missed_count = trend_news_missed(&nights, missed);
		writer_open(&p.json, '{');
		writer_text_member(&p.json, "format", "gpuproof-trend");
		writer_count_member(&p.json, "version", 1);
		writer_count_member(&p.json, "nights", nights.count);
		writer_open_member(&p.json, "series", '[');
		store_each_series(history, &options->filter, print_trends_of_series, &p, err);
		trend_pools_find(&p.pools, &p.notes);
		for (size_t i = 0; i < p.pools.count; i++)
			trend_news_count_changes(summary, &p.pools.items[i].trend);
		print_trend_pools_text(&p);
	}
	if (err->status == STATUS_OK && options->json)
		print_trend_finish_json(&p, missed, missed_count);
	else if (err->status == STATUS_OK)
		print_trend_text(&p, &nights, missed, missed_count);
	free(options->json ? NULL : writer_finish(&p.json));
	text_release(&p.rows);
	trend_news_seam_groups_release(&p.seams);
	trend_pools_release(&p.pools);
	trend_prior_release(&p.prior);
	history_notes_release(&p.notes);
	history_places_release(&p.places);
	history_nights_release(&nights);
	return err->status;
}
