/* The history file: what is in it, two writers, versions, damage, hostile text; and baselines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/file.h"
#include "case_point.h"
#include "history/history.h"
#include "history/sqlite/sqlite.h"
#include "history/trend.h"
#include "history/trend_prior.h"
#include "judge_fixture.h"

static char folder[64], path[96];

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/gpuproof_history.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/history.db", folder);
	return 0;
}

static int teardown(void **state)
{
	char journal[128];

	(void)state;
	snprintf(journal, sizeof(journal), "%s-journal", path);
	unlink(journal);
	unlink(path);
	return rmdir(folder);
}

static void night(struct result *r, int day, double value, const char *driver)
{
	node_init(r, 1, "NVIDIA H200");
	r->version = RESULT_VERSION;
	r->run_id = xasprintf("run-%d", day);
	r->started = xasprintf("2026-%02d-%02dT01:00:00Z", 1 + day / 28, 1 + day % 28);
	r->environment = xcalloc(2, sizeof(*r->environment));
	r->environment_count = 2;
	r->environment[0] = (struct fact){ xstrdup("hostname"), xstrdup("node1") };
	r->environment[1] = (struct fact){ xstrdup("driver"), xstrdup(driver) };
	case_result_add_times(node_add(r, 0, value, 0.001), "transfer.time")->statistics.n = 30;
	r->planned = 1;
}

static struct store *opened(enum store_mode mode)
{
	struct error err = ERROR_NONE;
	struct store *h;

	if (sqlite_store_open(&h, path, mode, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	return h;
}

/* A statement on the file, whose types and arguments are those of sqlite_run(). */
#define CHANGE(sql, ...)                                                                           \
	do {                                                                                       \
		struct error change_error = ERROR_NONE;                                            \
		struct store *changed;                                                             \
		assert_int_equal(sqlite_store_open(&changed, path, STORE_WRITE, &change_error),    \
				 STATUS_OK);                                                       \
		assert_int_equal(sqlite_run(changed, &change_error, sql, __VA_ARGS__), STATUS_OK); \
		sqlite_store_close(changed);                                                       \
	} while (0)

static void add(struct store *h, int day, double value, const char *driver,
		enum history_added expected)
{
	struct error err = ERROR_NONE;
	struct result r;
	enum history_added added;

	night(&r, day, value, driver);
	if (history_add(h, &r, &added, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_int_equal(added, expected);
	result_release(&r);
}

struct seen {
	size_t series, points, gaps, epochs;
	double last;
	char case_id[200];
};

static void see(void *context, const struct history_series *s)
{
	struct seen *seen = context;

	seen->series++;
	seen->points += s->count;
	for (size_t i = 0; i < s->count; i++) {
		seen->gaps += s->points[i].value != s->points[i].value;
		seen->epochs += i && s->points[i].epoch != s->points[i - 1].epoch;
		seen->last = s->points[i].value;
	}
	snprintf(seen->case_id, sizeof(seen->case_id), "%s", s->case_id);
}

static struct seen look(struct store *h, size_t nights)
{
	const struct history_filter filter = { .nights = nights };
	struct error err = ERROR_NONE;
	struct seen seen = { 0 };

	if (store_each_series(h, &filter, see, &seen, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	return seen;
}

static void nights_make_series(void **state)
{
	struct store *h = opened(STORE_CREATE);
	struct seen seen;

	(void)state;
	add(h, 1, 50e9, "580.1", HISTORY_ADDED);
	add(h, 0, 51e9, "580.1", HISTORY_ADDED);
	add(h, 2, 52e9, "580.2", HISTORY_ADDED);
	add(h, 2, 52e9, "580.2", HISTORY_PRESENT); /* the same run again */
	sqlite_store_close(h);
	h = opened(STORE_READ);
	seen = look(h, 0);
	assert_int_equal(seen.series, 1);
	assert_int_equal(seen.points, 3);
	/* By date, not in the order of adding; another driver is another epoch. */
	assert_true(seen.last == 52e9);
	assert_int_equal(seen.epochs, 1);
	assert_int_equal(look(h, 2).points, 2);
	sqlite_store_close(h);
}

/* A night of another hardware, driver or config; `change` as in the rows of the test below. */
static void add_changed(struct store *h, int day, int change, const char *section, const char *key)
{
	struct error err = ERROR_NONE;
	enum history_added added;
	struct device_info *d;
	struct result r;

	night(&r, day, 50e9, "580.1");
	d = &r.devices[0];
	d->ecc += change == 1;
	d->memory_bytes += change == 2;
	d->clock_hz += change == 3 ? 1e6 : 0;
	d->pcie_generation_max += change == 4;
	d->pcie_width_max += change == 5;
	strcpy(d->module, change == 6 ? "other" : "");
	d->numa_node += change == 7;
	d->nvlink_count += change == 8;
	strcpy(d->pci, change == 9 ? "0000:3b:00" : "");
	r.settings = xcalloc(1, sizeof(*r.settings));
	r.settings[r.setting_count++] =
		(struct result_setting){ xstrdup(section), xstrdup(key),
					 xstrdup(change == 10 ? "2" : "1"), xstrdup("config") };
	assert_int_equal(history_add(h, &r, &added, &err), STATUS_OK);
	result_release(&r);
}

/* Hardware and settings begin an epoch; place, topology, labels, pages and limits do not. */
static void hardware_and_config_begin_epochs(void **state)
{
	static const struct {
		int change;
		const char *section, *key;
		bool epoch;
	} rows[] = {
		{ 0, "suite transfer", "size", false }, { 1, "suite transfer", "size", true },
		{ 2, "suite transfer", "size", true },  { 3, "suite transfer", "size", true },
		{ 4, "suite transfer", "size", true },  { 5, "suite transfer", "size", true },
		{ 6, "suite transfer", "size", true },  { 7, "suite transfer", "size", false },
		{ 8, "suite transfer", "size", false }, { 9, "suite transfer", "size", false },
		{ 10, "suite transfer", "size", true }, { 10, "defaults", "max_time", true },
		{ 10, "run", "label", false },          { 10, "run", "tags", false },
		{ 10, "run", "verdict", false },        { 10, "report", "title", false },
		{ 10, "limit", "min", false },          { 10, "limit gemm", "min", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct store *h;

		unlink(path);
		h = opened(STORE_CREATE);
		add_changed(h, 0, 0, rows[i].section, rows[i].key);
		add_changed(h, 1, 0, rows[i].section, rows[i].key);
		add_changed(h, 2, rows[i].change, rows[i].section, rows[i].key);
		assert_int_equal(look(h, 0).points, 3);
		if (look(h, 0).epochs != rows[i].epoch)
			fail_msg("row %zu: %zu epochs begin", i, look(h, 0).epochs);
		sqlite_store_close(h);
	}
}

/* One more case on the same device. */
static void add_case(struct result *r, double value)
{
	node_add(r, 0, value, 0.001);
	free(r->cases[1].id);
	r->cases[1].id = xstrdup("transfer/d2h/pinned/512MiB@cuda:0");
	case_derive_point(&r->cases[1]);
}

static enum status add_version(struct store *h, double first, double second, const char *state,
			       enum history_added *added, struct error *err)
{
	struct result r;

	error_clear(err);
	night(&r, 3, first, "1");
	if (second > 0)
		add_case(&r, second);
	free(r.state);
	r.state = xstrdup(state);
	history_add(h, &r, added, err);
	result_release(&r);
	return err->status;
}

/* A run that was interrupted, added, resumed and added again. */
static void resumed_runs_replace_their_first_part(void **state)
{
	struct store *h = opened(STORE_CREATE);
	struct error err = ERROR_NONE;
	struct history_nights nights;
	enum history_added added;

	(void)state;
	assert_int_equal(add_version(h, 50e9, 0, "interrupted", &added, &err), STATUS_OK);
	assert_int_equal(added, HISTORY_ADDED);
	assert_int_equal(add_version(h, 50e9, 0, "interrupted", &added, &err), STATUS_OK);
	assert_int_equal(added, HISTORY_PRESENT);
	assert_int_equal(add_version(h, 50e9, 40e9, "complete", &added, &err), STATUS_OK);
	assert_int_equal(added, HISTORY_REPLACED);
	assert_int_equal(look(h, 0).points, 2);
	assert_int_equal(store_nights(h, &nights, &err), STATUS_OK);
	assert_int_equal(nights.count, 1);
	assert_string_equal(nights.items[0].run_id, "run-3");
	assert_string_equal(nights.items[0].state, "complete");
	history_nights_release(&nights);
	/* The first part again, and the same run with another figure, are not taken. */
	assert_int_equal(add_version(h, 50e9, 0, "interrupted", &added, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "with 2 values, and this result lacks 1 of them"));
	assert_int_equal(add_version(h, 51e9, 40e9, "complete", &added, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "1 of its 2 values differ"));
	assert_int_equal(add_version(h, 50e9, 40e9, "interrupted", &added, &err), STATUS_OK);
	assert_int_equal(added, HISTORY_PRESENT);
	assert_int_equal(look(h, 0).points, 2);
	assert_true(look(h, 0).last == 40e9);
	sqlite_store_close(h);
}

static void failures_are_gaps(void **state)
{
	struct store *h = opened(STORE_CREATE);
	struct error err = ERROR_NONE;
	struct result r;
	enum history_added added;

	(void)state;
	add(h, 0, 50e9, "1", HISTORY_ADDED);
	night(&r, 1, 0, "1");
	r.cases[0].status = CASE_ERROR;
	assert_int_equal(history_add(h, &r, &added, &err), STATUS_OK);
	result_release(&r);
	assert_int_equal(look(h, 0).gaps, 1);
	night(&r, 2, 1e9, "1");
	free(r.started);
	r.started = xstrdup("yesterday");
	assert_int_equal(history_add(h, &r, &added, &err), STATUS_USAGE);
	result_release(&r);
	sqlite_store_close(h);
}

static enum history_added add_drifting(struct store *h, int day)
{
	struct error err = ERROR_NONE;
	enum history_added added;
	struct result r;

	night(&r, day, 30e9, "1");
	r.cases[0].series[0].unsettled = true;
	r.cases[0].metrics[0].headline = false;
	assert_int_equal(history_add(h, &r, &added, &err), STATUS_OK);
	result_release(&r);
	return added;
}

/* The figure of a level that still changed is no night's figure, and makes no useless series. */
static void what_has_not_settled_is_a_gap(void **state)
{
	struct store *h = opened(STORE_CREATE);

	(void)state;
	add_drifting(h, 0);
	assert_int_equal(look(h, 0).series, 0);
	add(h, 1, 50e9, "1", HISTORY_ADDED);
	add_drifting(h, 2);
	assert_int_equal(look(h, 0).series, 1);
	assert_int_equal(look(h, 0).gaps, 1);
	add(h, 3, 51e9, "1", HISTORY_ADDED);
	assert_true(look(h, 0).last == 51e9);
	sqlite_store_close(h);
}

static void two_writers_lose_nothing(void **state)
{
	enum { NIGHTS = 12 };
	pid_t children[2];
	struct store *h;

	(void)state;
	for (int c = 0; c < 2; c++) {
		children[c] = fork();
		if (children[c] == 0) {
			for (int i = 0; i < NIGHTS; i++) {
				struct error err = ERROR_NONE;
				struct result r;
				enum history_added added;

				if (sqlite_store_open(&h, path, STORE_CREATE, &err) != STATUS_OK)
					_exit(1);
				night(&r, NIGHTS * c + i, 50e9, "1");
				if (history_add(h, &r, &added, &err) != STATUS_OK ||
				    added != HISTORY_ADDED)
					_exit(2);
				result_release(&r);
				sqlite_store_close(h);
			}
			_exit(0);
		}
	}
	for (int c = 0; c < 2; c++) {
		int status;

		assert_int_equal(waitpid(children[c], &status, 0), children[c]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	h = opened(STORE_READ);
	assert_int_equal(look(h, 0).points, 2 * NIGHTS);
	sqlite_store_close(h);
}

/*
 * Both find no file; one makes it, and the other must not take the unfinished file for another
 * program's.
 */
static void two_creators_agree(void **state)
{
	enum { ROUNDS = 60, CREATORS = 4 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		pid_t children[CREATORS];

		remove(path);
		for (int c = 0; c < CREATORS; c++) {
			children[c] = fork();
			if (children[c] == 0) {
				struct error err = ERROR_NONE;
				struct store *h;
				bool opens = sqlite_store_open(&h, path, STORE_CREATE, &err) ==
					     STATUS_OK;

				if (!opens)
					fprintf(stderr, "%s\n", err.message);
				_exit(!opens);
			}
		}
		for (int c = 0; c < CREATORS; c++) {
			int status;

			assert_int_equal(waitpid(children[c], &status, 0), children[c]);
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
		}
	}
}

static void with_sqlite(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void older_versions_are_migrated(void **state)
{
	struct error err = ERROR_NONE;
	struct history_notes notes;
	struct store_night night;
	struct store *h;

	(void)state;
	with_sqlite(store_migrations[0]);
	with_sqlite(
		"INSERT INTO night VALUES (1, 'r', '2026-01-01T00:00:00Z', 20454, 'h', '', '', "
		"'');INSERT INTO epoch VALUES (1, 'e', '');INSERT INTO series VALUES (1, "
		"'trainmem.takes', 'trainmem:a/step@cuda:0', 'H200', 'GPU-1', '1', 1, 1);INSERT "
		"INTO point VALUES (1, 1, 1, 5, NULL, NULL);PRAGMA application_id = 1735422566;"
		"PRAGMA user_version = 1");
	h = opened(STORE_READ);
	assert_int_equal(store_read_night(h, 1, &night, &err), STATUS_OK);
	assert_int_equal(night.figure_count, 1);
	assert_string_equal(night.figures[0].metric, "trainmem.allocations");
	assert_string_equal(night.figures[0].section, "trainmem:a");
	assert_string_equal(night.figures[0].point, "trainmem:a/step");
	store_night_release(&night);
	assert_int_equal(history_annotate(h, 20454, 0, false, "a note", &err), STATUS_OK);
	assert_int_equal(store_notes(h, &notes, &err), STATUS_OK);
	assert_int_equal(notes.count, 1);
	history_notes_release(&notes);
	sqlite_store_close(h);
	/* The one of tomorrow. */
	with_sqlite("PRAGMA user_version = 8");
	assert_int_equal(sqlite_store_open(&h, path, STORE_READ, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "versions up to 7"));
}

static void refuse(const char *word)
{
	struct error err = ERROR_NONE;
	struct store *h;

	assert_int_not_equal(sqlite_store_open(&h, path, STORE_CREATE, &err), STATUS_OK);
	if (!strstr(err.message, word))
		fail_msg("'%s' is not in '%s'", word, err.message);
}

static void other_files_are_refused(void **state)
{
	struct error err = ERROR_NONE;
	char page[8192];
	FILE *file;

	(void)state;
	memset(page, 'x', sizeof(page));
	assert_int_equal(file_write(path, page, sizeof(page), &err), STATUS_OK);
	refuse("is not a history");
	unlink(path);
	with_sqlite("CREATE TABLE t (a);PRAGMA application_id = 7;PRAGMA user_version = 1");
	refuse("another program");
	unlink(path);
	/* Damage in the middle. */
	sqlite_store_close(opened(STORE_CREATE));
	file = fopen(path, "r+");
	for (long at = 4096; at < 40960 && fseek(file, at, SEEK_SET) == 0; at += 4096)
		fwrite(page, 1, 200, file);
	fclose(file);
	refuse("damaged");
}

static void missing_is_said(void **state)
{
	struct error err = ERROR_NONE;
	struct store *h;

	(void)state;
	assert_int_equal(sqlite_store_open(&h, path, STORE_READ, &err), STATUS_IO);
	assert_non_null(strstr(err.message, "No such file"));
}

static void text_stays_text(void **state)
{
	static const char *const hostile[] = { "'; DROP TABLE night; --", "<script>]]>\n\x01\xff",
					       "%s%n", "\"" };
	struct store *h = opened(STORE_CREATE);
	struct error err = ERROR_NONE;
	struct history_nights nights;
	struct seen seen;
	struct result r;
	enum history_added added;
	int64_t day;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		night(&r, (int)i, 1e9, hostile[i]);
		free(r.cases[0].id);
		r.cases[0].id = xstrdup(hostile[i]);
		case_derive_point(&r.cases[0]);
		free(r.run_id);
		r.run_id = xstrdup(hostile[i]);
		assert_int_equal(history_add(h, &r, &added, &err), STATUS_OK);
		assert_true(history_day("2026-01-01", &day));
		assert_int_equal(history_annotate(h, day, 0, false, hostile[i], &err), STATUS_OK);
		result_release(&r);
	}
	seen = look(h, 0);
	assert_int_equal(seen.series, ARRAY_SIZE(hostile));
	assert_string_equal(seen.case_id, hostile[ARRAY_SIZE(hostile) - 1]);
	/* A file from elsewhere may hold what a terminal would obey. */
	assert_int_equal(store_nights(h, &nights, &err), STATUS_OK);
	assert_string_equal(nights.items[1].run_id, "<script>]]>\n??");
	history_nights_release(&nights);
	sqlite_store_close(h);
}

static void pruning_keeps_the_rest(void **state)
{
	struct store *h = opened(STORE_CREATE);
	struct error err = ERROR_NONE;
	size_t removed;
	int64_t day;

	(void)state;
	for (int i = 0; i < 10; i++)
		add(h, i, 50e9, "1", HISTORY_ADDED);
	assert_true(history_day("2026-01-05", &day));
	assert_int_equal(store_nights_prune(h, day, &removed, &err), STATUS_OK);
	assert_int_equal(removed, 4);
	assert_int_equal(look(h, 0).points, 6);
	assert_int_equal(store_nights_prune(h, day + 100, &removed, &err), STATUS_OK);
	assert_int_equal(look(h, 0).series, 0);
	sqlite_store_close(h);
	assert_false(history_day("2026-02-31", &day));
	assert_false(history_day("soon", &day));
}

/* A day that no calendar has is damage, not a loop without end. */
static void days_out_of_range_are_damage(void **state)
{
	static const int64_t days[] = { INT64_MAX, INT64_MIN, LAST_DAY + 1, FIRST_DAY - 1 };
	const struct history_filter filter = { 0 };
	struct store *h = opened(STORE_CREATE);
	struct error err = ERROR_NONE;
	struct seen seen = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		add(h, i, 50e9, "1", HISTORY_ADDED);
	for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
		struct history_nights nights;

		CHANGE("UPDATE night SET day = ? WHERE id = 2", "i", days[i]);
		assert_int_equal(store_nights(h, &nights, &err), STATUS_IO);
		assert_non_null(strstr(err.message, "the history is damaged: the day "));
		history_nights_release(&nights);
		error_clear(&err);
		assert_int_equal(store_each_series(h, &filter, see, &seen, &err), STATUS_IO);
		error_clear(&err);
	}
	CHANGE("UPDATE night SET day = ? WHERE id = 2", "i", LAST_DAY);
	assert_int_equal(store_each_series(h, &filter, see, &seen, &err), STATUS_OK);
	sqlite_store_close(h);
}

/* A note belongs to a night; of a day without one the nearest nights are named. */
static void notes_need_a_night(void **state)
{
	struct store *h = opened(STORE_CREATE);
	struct error err = ERROR_NONE;
	struct history_notes notes;
	int64_t day;

	(void)state;
	assert_true(history_day("2026-01-03", &day));
	assert_int_equal(history_annotate(h, day, 0, false, "x", &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "the history contains no runs"));
	error_clear(&err);
	add(h, 1, 50e9, "1", HISTORY_ADDED);
	assert_int_equal(history_annotate(h, day, 0, false, "x", &err), STATUS_USAGE);
	assert_non_null(strstr(err.message,
			       "the history has no run of 2026-01-03; the nearest: 2026-01-02"));
	error_clear(&err);
	add(h, 5, 50e9, "1", HISTORY_ADDED);
	assert_int_equal(history_annotate(h, day, 0, false, "x", &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "nearest: 2026-01-02 and 2026-01-06"));
	error_clear(&err);
	assert_int_equal(history_annotate(h, day - 1, 0, true, "a\nb\tc", &err), STATUS_OK);
	assert_int_equal(store_notes(h, &notes, &err), STATUS_OK);
	assert_int_equal(notes.count, 1);
	assert_string_equal(notes.items[0].text, "a b c");
	history_notes_release(&notes);
	sqlite_store_close(h);
}

/*
 * A series is judged alike whether it is shown alone or with others; all_metrics looks at more of
 * them.
 */
static void what_is_learnt_is_not_selected(void **state)
{
	const struct history_filter filters[] = { { 0 },
						  { .series = 1 },
						  { .metric = "bandwidth" },
						  { .case_id = "h2d" },
						  { .all_metrics = true } };
	struct store *h = opened(STORE_CREATE);
	struct error err = ERROR_NONE;
	enum history_added added;

	(void)state;
	assert_int_equal(add_version(h, 50e9, 40e9, "complete", &added, &err), STATUS_OK);
	CHANGE("INSERT INTO series (id, metric, case_id, model, machine, unit, better, headline) "
	       "SELECT 9, 'other', case_id, model, machine, unit, better, 0 FROM series WHERE id = "
	       "1",
	       "");
	CHANGE("INSERT INTO point SELECT 9, night, epoch, value, low, high FROM point WHERE series "
	       "= 1",
	       "");
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct trend_prior prior;

		assert_int_equal(trend_prior_learn(&prior, h, &filters[i], &err), STATUS_OK);
		assert_int_equal(prior.series, filters[i].all_metrics ? 3 : 2);
		trend_prior_release(&prior);
	}
	sqlite_store_close(h);
}

static struct night_spread spread_of(struct store *h, const char *case_id, const char *machine)
{
	struct error err = ERROR_NONE;
	struct night_spread spread;

	if (trend_spread(h, "transfer.bandwidth", case_id, machine, &spread, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	return spread;
}

/*
 * Statistics are over the nights since the last change in the newest epoch, and over no other
 * series.
 */
static void spread_between_nights(void **state)
{
	struct store *h = opened(STORE_CREATE);
	struct history_filter filter = { .case_id = "transfer" };
	struct error err = ERROR_NONE;
	struct night_spread spread;
	struct seen seen = { 0 };

	(void)state;
	for (int i = 0; i < 40; i++)
		add(h, i, (i < 20 ? 50e9 : 40e9) * (i % 2 ? 1.01 : 0.99), "1", HISTORY_ADDED);
	store_each_series(h, &filter, see, &seen, &err);
	spread = spread_of(h, seen.case_id, NULL);
	assert_int_equal(spread.nights, 20);
	assert_true(fabs(spread.ratio - 0.01 * sqrt(20.0 / 19)) < 1e-4);
	/* The whole name of the case, on this machine. */
	assert_int_equal(spread_of(h, "transfer", NULL).nights, 0);
	assert_int_equal(spread_of(h, seen.case_id, "another").nights, 0);
	assert_true(isnan(spread_of(h, seen.case_id, "another").ratio));
	/* One night of another driver tells nothing yet. */
	add(h, 40, 50e9, "2", HISTORY_ADDED);
	assert_true(isnan(spread_of(h, seen.case_id, NULL).ratio));
	sqlite_store_close(h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nights_make_series),
		TEST(hardware_and_config_begin_epochs),
		TEST(failures_are_gaps),
		TEST(what_has_not_settled_is_a_gap),
		TEST(resumed_runs_replace_their_first_part),
		TEST(two_writers_lose_nothing),
		TEST(two_creators_agree),
		TEST(older_versions_are_migrated),
		TEST(other_files_are_refused),
		TEST(missing_is_said),
		TEST(text_stays_text),
		TEST(pruning_keeps_the_rest),
		TEST(days_out_of_range_are_damage),
		TEST(notes_need_a_night),
		TEST(what_is_learnt_is_not_selected),
		TEST(spread_between_nights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
