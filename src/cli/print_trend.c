#include "cli/print_trend.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "judge/trend.h"
#include "result/json_writer.h"

#define RECENT_NIGHTS 10 /* so long a new epoch is news */
#define MOST_DAYS 400    /* missed nights that are listed */
#define MOST_DIFFERENCES 12

struct printing {
	struct history *history;
	const struct trend_options *options;
	struct trend_summary *summary;
	struct history_notes notes;
	struct json_writer json;
	struct text rows; /* of text output: printed behind the status line */
	struct error *err;
};

/* The line "name=..." of facts; NULL: there is none. */
static const char *fact_line(const char *facts, const char *line)
{
	size_t name = strcspn(line, "=") + 1;

	for (const char *p = facts; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, line, name) == 0)
			return p;
	return NULL;
}

typedef void difference_fn(struct printing *p, const char *name, size_t name_length,
			   const char *before, size_t before_length, const char *after,
			   size_t after_length);

/* Facts that both nights have and that differ; `show` gets at most MOST_DIFFERENCES. */
static void each_difference(struct printing *p, int64_t before, int64_t after, difference_fn *show)
{
	char *a = history_facts(p->history, before, p->err),
	     *b = history_facts(p->history, after, p->err);
	size_t shown = 0;

	for (const char *line = a; *line && shown < MOST_DIFFERENCES;) {
		size_t length = strcspn(line, "\n"), name = strcspn(line, "=");
		const char *other = fact_line(b, line);

		if (other && name < length &&
		    (strcspn(other, "\n") != length || strncmp(line, other, length) != 0)) {
			show(p, line, name, line + name + 1, length - name - 1, other + name + 1,
			     strcspn(other, "\n") - name - 1);
			shown++;
		}
		line += length + (line[length] == '\n');
	}
	free(a);
	free(b);
}

static void difference_text(struct printing *p, const char *name, size_t name_length,
			    const char *before, size_t before_length, const char *after,
			    size_t after_length)
{
	text_addf(&p->rows, "      %.*s: %.*s -> %.*s\n", (int)name_length, name,
		  (int)before_length, before, (int)after_length, after);
}

static void difference_json(struct printing *p, const char *name, size_t name_length,
			    const char *before, size_t before_length, const char *after,
			    size_t after_length)
{
	const struct {
		const char *key, *text;
		size_t length;
	} members[] = { { "name", name, name_length },
			{ "before", before, before_length },
			{ "after", after, after_length } };

	writer_open(&p->json, '{');
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		char *text = xstrndup(members[i].text, members[i].length);

		writer_key(&p->json, members[i].key);
		writer_text(&p->json, text);
		free(text);
	}
	writer_close(&p->json, '}');
}

static void change_text(struct printing *p, const struct history_series *s,
			const struct trend_change *c)
{
	char date[16], before[48], after[48];

	history_date(c->day, date);
	text_addf(&p->rows, "    %s %s: %s -> %s, %.1f %% %s, p = %.1g\n",
		  change_state_name(c->state), date,
		  units_format(c->before, s->unit, before, sizeof(before)),
		  units_format(c->after, s->unit, after, sizeof(after)), 100 * fabs(c->ratio - 1),
		  s->better == BETTER_NONE ? (c->ratio > 1 ? "more" : "less")
		  : c->ratio > 1           ? "worse"
					   : "better",
		  c->probability);
	if (c->state != TREND_RECOVERED)
		each_difference(p, c->night_before, c->night, difference_text);
}

static void notes_text(struct printing *p, const struct history_series *s)
{
	for (size_t i = 0; i < p->notes.count; i++) {
		const struct history_note *n = &p->notes.items[i];
		char date[16];

		if (n->series != s->id)
			continue;
		history_date(n->day, date);
		text_addf(&p->rows, "    note %s: %s\n", date, n->text);
	}
}

/* The first point of the series' last epoch and the one before it; false: there was no other epoch, or it is long over. */
static bool new_epoch(const struct history_series *s, const struct history_point **before,
		      const struct history_point **after)
{
	int64_t epoch = s->points[s->count - 1].epoch;
	size_t first = s->count - 1;

	while (first && s->points[first - 1].epoch == epoch)
		first--;
	if (!first || s->count - first > RECENT_NIGHTS)
		return false;
	*before = &s->points[first - 1];
	*after = &s->points[first];
	return true;
}

static void series_text(struct printing *p, const struct history_series *s, const struct trend *t)
{
	const struct history_point *before, *after;
	char median[48], date[16];

	text_addf(&p->rows, "%4" PRId64 "  %s %s", s->id, s->case_id, s->metric);
	if (*s->model)
		text_addf(&p->rows, ", %s", s->model);
	text_addf(&p->rows, " (%s)\n", s->machine);
	text_addf(&p->rows, "    %zu nights, median %s, %zu missed%s\n", t->count,
		  units_format(t->median, s->unit, median, sizeof(median)), t->missed,
		  t->warning ? "; WARNING: two of the last three nights beyond the band" : "");
	for (size_t i = 0; i < t->change_count; i++)
		change_text(p, s, &t->changes[i]);
	if (new_epoch(s, &before, &after)) {
		history_date(after->day, date);
		text_addf(&p->rows, "    starts anew %s: hardware, driver or config changed\n",
			  date);
		each_difference(p, before->night, after->night, difference_text);
	}
	notes_text(p, s);
}

static void number(struct json_writer *w, const char *name, double value)
{
	writer_key(w, name);
	writer_real(w, value);
}

static void count(struct json_writer *w, const char *name, size_t value)
{
	writer_key(w, name);
	writer_unsigned(w, value);
}

static void member(struct json_writer *w, const char *name, const char *text)
{
	writer_key(w, name);
	writer_text(w, text);
}

static void change_json(struct printing *p, const struct trend_change *c)
{
	struct json_writer *w = &p->json;
	char date[16];

	history_date(c->day, date);
	writer_open(w, '{');
	member(w, "date", date);
	member(w, "state", change_state_name(c->state));
	number(w, "before", c->before);
	number(w, "after", c->after);
	number(w, "ratio", c->ratio);
	number(w, "probability", c->probability);
	writer_key(w, "environment");
	writer_open(w, '[');
	each_difference(p, c->night_before, c->night, difference_json);
	writer_close(w, ']');
	writer_close(w, '}');
}

static void series_json(struct printing *p, const struct history_series *s, const struct trend *t)
{
	struct json_writer *w = &p->json;

	writer_open(w, '{');
	count(w, "series", (size_t)s->id);
	member(w, "case", s->case_id);
	member(w, "metric", s->metric);
	member(w, "unit", s->unit);
	member(w, "model", s->model);
	member(w, "machine", s->machine);
	count(w, "nights", t->count);
	count(w, "missed", t->missed);
	number(w, "median", t->median);
	number(w, "low", t->low);
	number(w, "high", t->high);
	writer_key(w, "warning");
	writer_bool(w, t->warning);
	writer_key(w, "changes");
	writer_open(w, '[');
	for (size_t i = 0; i < t->change_count; i++)
		change_json(p, &t->changes[i]);
	writer_close(w, ']');
	writer_close(w, '}');
}

/* True when there is something to say about the series. */
static bool take_counts(struct trend_summary *summary, const struct trend *t)
{
	summary->series++;
	summary->warnings += t->warning;
	for (size_t i = 0; i < t->change_count; i++) {
		const struct trend_change *c = &t->changes[i];

		summary->fresh += c->state == TREND_NEW;
		summary->worse += c->state == TREND_NEW && c->ratio > 1;
		summary->acknowledged += c->state == TREND_ACKNOWLEDGED;
		summary->recovered += c->state == TREND_RECOVERED;
	}
	return t->warning || t->change_count;
}

static void visit(void *context, const struct history_series *s)
{
	struct printing *p = context;
	const struct history_point *before, *after;
	struct trend *trends;
	size_t n = trend_of_series(s, &p->notes, &trends);

	for (size_t i = 0; i < n; i++) {
		/* What an older epoch did is history. */
		if (!trends[i].current)
			continue;
		if (!take_counts(p->summary, &trends[i]) && !p->options->all &&
		    !new_epoch(s, &before, &after))
			continue;
		if (p->options->json)
			series_json(p, s, &trends[i]);
		else
			series_text(p, s, &trends[i]);
	}
	trends_release(trends, n);
}

static void nights_text(const struct history_nights *nights, const int64_t *missed,
			size_t missed_count)
{
	char first[16] = "-", last[16] = "-", date[16];

	if (nights->count) {
		history_date(nights->items[0].day, first);
		history_date(nights->items[nights->count - 1].day, last);
	}
	printf("%zu nights from %s to %s", nights->count, first, last);
	if (missed_count)
		printf("; %zu missed:", missed_count);
	for (size_t i = missed_count > MOST_DIFFERENCES ? missed_count - MOST_DIFFERENCES : 0;
	     i < missed_count; i++) {
		history_date(missed[i], date);
		printf(" %s", date);
	}
	printf("%s\n", missed_count > MOST_DIFFERENCES ? " (the last ones)" : "");
}

static void print_text(struct printing *p, const struct history_nights *nights,
		       const int64_t *missed, size_t missed_count)
{
	const struct trend_summary *s = p->summary;

	nights_text(nights, missed, missed_count);
	printf("%zu series: %zu new changes (%zu for the worse), %zu warnings, %zu acknowledged, "
	       "%zu recovered\n\n",
	       s->series, s->fresh, s->worse, s->warnings, s->acknowledged, s->recovered);
	fputs(p->rows.data ? p->rows.data : "", stdout);
	if (!p->rows.data)
		puts("Nothing changed.");
}

static void finish_json(struct printing *p, const int64_t *missed, size_t missed_count)
{
	struct json_writer *w = &p->json;
	char date[16], *json;

	writer_close(w, ']');
	writer_key(w, "missed");
	writer_open(w, '[');
	for (size_t i = 0; i < missed_count; i++) {
		history_date(missed[i], date);
		writer_text(w, date);
	}
	writer_close(w, ']');
	count(w, "new_changes", p->summary->fresh);
	count(w, "new_changes_for_the_worse", p->summary->worse);
	count(w, "warnings", p->summary->warnings);
	writer_close(w, '}');
	json = writer_finish(w);
	fputs(json, stdout);
	free(json);
}

static size_t find_missed(const struct history_nights *nights, int64_t *missed)
{
	int64_t *days = xcalloc(nights->count + 1, sizeof(*days));
	size_t found;

	for (size_t i = 0; i < nights->count; i++)
		days[i] = nights->items[i].day;
	found = missed_nights(days, nights->count, missed, MOST_DAYS);
	free(days);
	return found < MOST_DAYS ? found : MOST_DAYS;
}

enum status print_trend(struct history *history, const struct trend_options *options,
			struct trend_summary *summary, struct error *err)
{
	struct printing p = { .history = history,
			      .options = options,
			      .summary = summary,
			      .json = { .expand = 3 },
			      .err = err };
	struct history_nights nights = { 0 };
	int64_t missed[MOST_DAYS];
	size_t missed_count = 0;

	memset(summary, 0, sizeof(*summary));
	if (history_notes(history, &p.notes, err) == STATUS_OK &&
	    history_nights(history, &nights, err) == STATUS_OK) {
		missed_count = find_missed(&nights, missed);
		writer_open(&p.json, '{');
		member(&p.json, "format", "gpuproof-trend");
		count(&p.json, "version", 1);
		count(&p.json, "nights", nights.count);
		writer_key(&p.json, "series");
		writer_open(&p.json, '[');
		history_each(history, &options->filter, visit, &p, err);
	}
	if (err->status == STATUS_OK && options->json)
		finish_json(&p, missed, missed_count);
	else if (err->status == STATUS_OK)
		print_text(&p, &nights, missed, missed_count);
	free(options->json ? NULL : writer_finish(&p.json));
	text_release(&p.rows);
	history_notes_release(&p.notes);
	history_nights_release(&nights);
	return err->status;
}
