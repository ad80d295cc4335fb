#include "history/exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/json/json_fields.h"

#define EXCHANGE_FORMAT "gpuproof-history"

static const char *const better_words[] = { "higher", "lower", "none", NULL };

#define TEXT(type, name_, member)                                               \
	{                                                                       \
		.name = (name_), .codec = &codec_string, FIELD_AT(type, member) \
	}

#define MAYBE(type, name_, member)                                                       \
	{                                                                                \
		.name = (name_), .codec = &codec_string_or_none, FIELD_AT(type, member), \
		.optional = true                                                         \
	}

static const struct field device_fields[] = {
	TEXT(store_device, "id", id),       TEXT(store_device, "machine", machine),
	TEXT(store_device, "model", model), TEXT(store_device, "serial", serial),
	TEXT(store_device, "slot", slot),   { 0 },
};

static const struct field figure_fields[] = {
	TEXT(store_figure, "case", case_id),
	TEXT(store_figure, "metric", metric),
	TEXT(store_figure, "section", section),
	TEXT(store_figure, "point", point),
	TEXT(store_figure, "model", model),
	TEXT(store_figure, "machine", machine),
	TEXT(store_figure, "unit", unit),
	{ .name = "better",
	  .codec = &codec_enum,
	  FIELD_AT(store_figure, better),
	  .words = better_words },
	{ .name = "headline", .codec = &codec_bool, FIELD_AT(store_figure, headline) },
	{ .name = "epoch", .codec = &codec_uint64, FIELD_AT(store_figure, epoch) },
	{ .name = "value", .codec = &codec_real, FIELD_AT(store_figure, value) },
	{ .name = "low", .codec = &codec_real, FIELD_AT(store_figure, low) },
	{ .name = "high", .codec = &codec_real, FIELD_AT(store_figure, high) },
	{ .name = "only_gap",
	  .codec = &codec_mark,
	  FIELD_AT(store_figure, only_gap),
	  .optional = true },
	{ 0 },
};

static const struct field night_fields[] = {
	TEXT(store_night, "run", run_id),
	TEXT(store_night, "started", started),
	TEXT(store_night, "host", host),
	TEXT(store_night, "label", label),
	TEXT(store_night, "state", state),
	TEXT(store_night, "verdict", verdict),
	TEXT(store_night, "facts", facts),
	MAYBE(store_night, "tags", tags),
	{ .name = "devices",
	  .codec = &codec_array,
	  FIELD_COUNTED(store_night, devices, device_count),
	  .fields = device_fields },
	{ .name = "epochs",
	  .codec = &codec_strings,
	  FIELD_COUNTED(store_night, epochs, epoch_count) },
	{ .name = "figures",
	  .codec = &codec_array,
	  FIELD_COUNTED(store_night, figures, figure_count),
	  FIELD_CAPACITY(store_night, figure_capacity),
	  .fields = figure_fields },
	{ 0 },
};

/* A note with its series by name: numbers differ from history to history. */
struct named_note {
	char *text, *day, *written;
	bool acknowledges;
	char *case_id, *metric, *model, *machine; /* "": about all series */
	char *state, *by, *ticket, *until;        /* of a decision; until: a date */
	char *about_host, *about_machine, *about_case, *about_metric;
};

static const struct field note_fields[] = {
	TEXT(named_note, "note", text),
	TEXT(named_note, "day", day),
	TEXT(named_note, "written", written),
	{ .name = "acknowledges", .codec = &codec_bool, FIELD_AT(named_note, acknowledges) },
	TEXT(named_note, "case", case_id),
	TEXT(named_note, "metric", metric),
	TEXT(named_note, "model", model),
	TEXT(named_note, "machine", machine),
	MAYBE(named_note, "state", state),
	MAYBE(named_note, "by", by),
	MAYBE(named_note, "ticket", ticket),
	MAYBE(named_note, "until", until),
	MAYBE(named_note, "about_host", about_host),
	MAYBE(named_note, "about_machine", about_machine),
	MAYBE(named_note, "about_case", about_case),
	MAYBE(named_note, "about_metric", about_metric),
	{ 0 },
};

struct header {
	char *format;
	uint64_t version;
};

static const struct field header_fields[] = {
	TEXT(header, "format", format),
	{ .name = "version", .codec = &codec_uint64, FIELD_AT(header, version) },
	{ 0 },
};

static void note_release(struct named_note *n)
{
	char *texts[] = {
		n->text,  n->day,        n->written,       n->case_id,    n->metric,
		n->model, n->machine,    n->state,         n->by,         n->ticket,
		n->until, n->about_host, n->about_machine, n->about_case, n->about_metric
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	memset(n, 0, sizeof(*n));
}

static char *header_line(void)
{
	const struct header header = { (char *)EXCHANGE_FORMAT, HISTORY_EXPORT_VERSION };

	return fields_line(header_fields, &header);
}

static int by_start(const void *a, const void *b)
{
	const struct history_night *p = a, *q = b;
	int order = strcmp(p->started, q->started);

	return order ? order : strcmp(p->run_id, q->run_id);
}

typedef enum status night_fn(void *context, const struct store_night *night, struct error *err);
typedef enum status note_fn(void *context, const struct named_note *note, struct error *err);

static enum status each_night(struct store *store, night_fn *visit, void *context,
			      struct error *err)
{
	struct history_nights nights;

	store_nights(store, &nights, err);
	if (nights.count)
		qsort(nights.items, nights.count, sizeof(*nights.items), by_start);
	for (size_t i = 0; i < nights.count && err->status == STATUS_OK; i++) {
		struct store_night night;

		if (store_read_night(store, nights.items[i].id, &night, err) != STATUS_OK)
			break;
		visit(context, &night, err);
		store_night_release(&night);
	}
	history_nights_release(&nights);
	return err->status;
}

static void name_series(void *context, const struct history_series *s)
{
	struct named_note *n = context;

	free(n->case_id);
	free(n->metric);
	free(n->model);
	free(n->machine);
	n->case_id = xstrdup(s->case_id);
	n->metric = xstrdup(s->metric);
	n->model = xstrdup(s->model);
	n->machine = xstrdup(s->machine);
}

static enum status each_note(struct store *store, note_fn *visit, void *context, struct error *err)
{
	struct history_notes notes;

	store_notes(store, &notes, err);
	for (size_t i = 0; i < notes.count && err->status == STATUS_OK; i++) {
		const struct history_note *note = &notes.items[i];
		const struct history_filter filter = { .series = note->series };
		struct named_note n = { .text = xstrdup(note->text),
					.written = xstrdup(note->written),
					.acknowledges = note->acknowledges,
					.case_id = xstrdup(""),
					.metric = xstrdup(""),
					.model = xstrdup(""),
					.machine = xstrdup(""),
					.state = xstrdup(triage_word(note->state)),
					.by = xstrdup(note->by),
					.ticket = xstrdup(note->ticket),
					.about_host = xstrdup(note->host),
					.about_machine = xstrdup(note->machine),
					.about_case = xstrdup(note->case_id),
					.about_metric = xstrdup(note->metric) };
		char date[16];

		history_date(note->day, date);
		n.day = xstrdup(date);
		history_date(note->until, date);
		n.until = xstrdup(note->until ? date : "");
		if (note->series)
			store_each_series(store, &filter, name_series, &n, err);
		/* Pruning may have taken its series. */
		if (err->status == STATUS_OK && (!note->series || *n.case_id))
			visit(context, &n, err);
		note_release(&n);
	}
	history_notes_release(&notes);
	return err->status;
}

static enum status write_line(FILE *out, char *line, struct error *err)
{
	int written = fprintf(out, "%s\n", line);

	free(line);
	return written < 0 ? error_errno(err, "the export") : STATUS_OK;
}

static enum status write_night(void *out, const struct store_night *night, struct error *err)
{
	return write_line(out, fields_line(night_fields, night), err);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct lines {
	char **items;
	size_t count, capacity;
};

static enum status keep_note(void *context, const struct named_note *note, struct error *err)
{
	struct lines *lines = context;

	(void)err;
	ARRAY_GROW(lines->items, lines->count, lines->capacity);
	lines->items[lines->count++] = fields_line(note_fields, note);
	return STATUS_OK;
}

enum status history_export(struct store *store, FILE *out, struct error *err)
{
	struct lines notes = { 0 };

	if (write_line(out, header_line(), err) == STATUS_OK &&
	    each_night(store, write_night, out, err) == STATUS_OK)
		each_note(store, keep_note, &notes, err);
	if (notes.count)
		qsort(notes.items, notes.count, sizeof(*notes.items), compare_lines);
	for (size_t i = 0; i < notes.count; i++) {
		if (err->status == STATUS_OK)
			write_line(out, xstrdup(notes.items[i]), err);
		free(notes.items[i]);
	}
	free(notes.items);
	return err->status;
}

char *night_to_export(const struct store_night *night)
{
	char *header = header_line(), *line = fields_line(night_fields, night);
	char *lines = xasprintf("%s\n%s\n", header, line);

	free(header);
	free(line);
	return lines;
}

struct taking {
	struct store *store;
	const char *name; /* for messages */
	struct history_tally *tally;
};

static enum status take_night(void *context, const struct store_night *night, struct error *err)
{
	struct taking *t = context;

	return history_tally(t->store, night, t->name, t->tally, err);
}

struct finding_series {
	const struct named_note *note;
	int64_t id;
};

static void find_series(void *context, const struct history_series *s)
{
	struct finding_series *f = context;

	if (strcmp(s->model, f->note->model) == 0 && strcmp(s->machine, f->note->machine) == 0)
		f->id = s->id;
}

static bool is_there(struct store *store, const struct history_note *note, struct error *err)
{
	struct history_notes notes;
	bool found = false;

	store_notes(store, &notes, err);
	for (size_t i = 0; i < notes.count && !found; i++) {
		const struct history_note *n = &notes.items[i];

		found = n->day == note->day && n->series == note->series &&
			n->acknowledges == note->acknowledges && n->state == note->state &&
			strcmp(n->text, note->text) == 0 &&
			strcmp(n->written, note->written) == 0 &&
			strcmp(n->host, note->host) == 0 && strcmp(n->machine, note->machine) == 0;
	}
	history_notes_release(&notes);
	return found;
}

/* A note of a series whose nights are not in this history has nothing to be about. */
static enum status take_note(void *context, const struct named_note *n, struct error *err)
{
	const struct history_filter filter = {
		.metric = n->metric, .case_id = n->case_id, .exact = true, .all_metrics = true
	};
	struct history_note note = { .acknowledges = n->acknowledges,
				     .text = n->text,
				     .written = n->written,
				     .state = triage_of_word(n->state),
				     .by = n->by,
				     .ticket = n->ticket,
				     .host = n->about_host,
				     .machine = n->about_machine,
				     .case_id = n->about_case,
				     .metric = n->about_metric };
	struct finding_series found = { .note = n };
	struct taking *t = context;

	if (!history_day(n->day, &note.day))
		return error_set(err, STATUS_USAGE, "day: '%.40s' is no date like 2026-11-20",
				 n->day);
	if (*n->state && !note.state)
		return error_set(err, STATUS_USAGE,
				 "state: '%.40s' is none of open, fixed, expected, false-alarm, "
				 "tracked, wontfix",
				 n->state);
	if (*n->until && !history_day(n->until, &note.until))
		return error_set(err, STATUS_USAGE, "until: '%.40s' is no date like 2026-11-20",
				 n->until);
	if (*n->case_id)
		store_each_series(t->store, &filter, find_series, &found, err);
	note.series = found.id;
	if (err->status == STATUS_OK && (!*n->case_id || found.id) &&
	    !is_there(t->store, &note, err))
		store_add_note(t->store, &note, err);
	return err->status;
}

static enum status check_night(struct store_night *night, struct error *err)
{
	if (!*night->run_id || !history_day(night->started, &night->day))
		return error_set(err, STATUS_USAGE,
				 "a night without a run id and a time of its start");
	for (size_t i = 0; i < night->figure_count; i++) {
		const struct store_figure *f = &night->figures[i];

		if (f->epoch >= night->epoch_count)
			return error_set(err, STATUS_USAGE, "figures[%zu].epoch: %zu of %zu epochs",
					 i, f->epoch, night->epoch_count);
		if (!*f->case_id || (!*f->metric && !f->only_gap))
			return error_set(err, STATUS_USAGE,
					 "figures[%zu]: a figure without case and metric", i);
	}
	return STATUS_OK;
}

static enum status read_night(const char *line, struct store_night *night, struct error *err)
{
	memset(night, 0, sizeof(*night));
	if (fields_parse(line, strlen(line), night_fields, night, err) == STATUS_OK)
		check_night(night, err);
	return err->status;
}

static enum status check_header(const char *line, struct error *err)
{
	struct header header = { 0 };

	if (fields_parse(line, strlen(line), header_fields, &header, err) == STATUS_OK) {
		if (strcmp(header.format, EXCHANGE_FORMAT) != 0)
			error_set(err, STATUS_USAGE,
				  "format: '%.40s' is not \"" EXCHANGE_FORMAT "\"", header.format);
		else if (header.version != HISTORY_EXPORT_VERSION)
			error_set(err, STATUS_USAGE, "version %llu; this gpuproof reads version %d",
				  (unsigned long long)header.version, HISTORY_EXPORT_VERSION);
	}
	free(header.format);
	return err->status;
}

/* `line` without its end. A refusal of the night itself is counted in the tally. */
static enum status take_line(struct taking *t, const char *line, size_t number, struct error *err)
{
	if (number == 1 || text_starts_with(line, "{\"format\""))
		return check_header(line, err);
	if (text_starts_with(line, "{\"note\"")) {
		struct named_note note = { 0 };

		if (fields_parse(line, strlen(line), note_fields, &note, err) == STATUS_OK)
			take_note(t, &note, err);
		note_release(&note);
	} else {
		struct store_night night;

		if (read_night(line, &night, err) == STATUS_OK)
			take_night(t, &night, err);
		store_night_release(&night);
	}
	return err->status;
}

static enum status take_lines(struct taking *t, FILE *in, const char *path, struct error *err)
{
	size_t room = 0, number = 0;
	char *line = NULL;
	ssize_t length;

	while (err->status == STATUS_OK && (length = getline(&line, &room, in)) > 0) {
		bool ended = line[length - 1] == '\n';

		number++;
		line[length - ended] = '\0';
		if (!ended)
			error_set(err, STATUS_USAGE, "%s:%zu: the file ends within a line", path,
				  number);
		else if (take_line(t, line, number, err) != STATUS_OK)
			error_prefix(err, "%s:%zu", path, number);
	}
	free(line);
	if (err->status == STATUS_OK && ferror(in))
		error_errno(err, "%s", path);
	if (err->status == STATUS_OK && !number)
		error_set(err, STATUS_USAGE, "%s: is empty: no export of a history", path);
	return err->status;
}

enum status history_import(struct store *store, const char *path, struct history_tally *tally,
			   struct error *err)
{
	struct history_tally before = *tally;
	struct taking t = { .store = store, .name = path, .tally = tally };
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");

	if (!in)
		return error_errno(err, "%s", path);
	if (store_begin(store, err) == STATUS_OK) {
		take_lines(&t, in, path, err);
		store_end(store, true, err);
	}
	if (in != stdin)
		fclose(in);
	if (err->status != STATUS_OK)
		*tally = before;
	return err->status;
}

enum status history_merge(struct store *store, struct store *from, const char *name,
			  struct history_tally *tally, struct error *err)
{
	struct taking t = { .store = store, .name = name, .tally = tally };

	if (store_begin(store, err) != STATUS_OK)
		return err->status;
	if (each_night(from, take_night, &t, err) == STATUS_OK)
		each_note(from, take_note, &t, err);
	return store_end(store, true, err);
}
