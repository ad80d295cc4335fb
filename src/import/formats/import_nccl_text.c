/*
 * The table of nccl-tests and rccl-tests. Lines that begin with '#' name devices, columns and,
 * since 2.13.9, the collective. Columns differ between versions, collectives and options, so they
 * are found by name. A row begins with two whole numbers and a type.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/formats/nccl_build.h"

struct nccl_log {
	struct nccl_file file;
	struct nccl_test *test;                  /* test that the lines belong to; NULL: none yet */
	const struct nccl_collective *mentioned; /* in the last command line; NULL */
	const char *columns;                     /* of the test: nccl_build.h */
	size_t words;                            /* per row; a timestamp has two */
	bool of_cpu;                             /* times are CPU times */
	bool in_place;                           /* only in-place figures */
	size_t bad_line;                         /* line of an incomplete row; 0: none */
	char bad[128];
};

/* Begins a test if none has begun, or if the last one is past its heading. */
static struct nccl_test *nccl_text_head_of_test(struct import *import)
{
	struct nccl_log *log = import->state;

	if (!log->test || log->test->rank_count || log->test->headed || log->test->broken) {
		log->test = nccl_build_begin_test(&log->file, import->line);
		log->test->mentioned = log->mentioned;
		import->column_count = 0;
		log->in_place = false;
	}
	return log->test;
}

static struct nccl_test *nccl_text_current_test(struct import *import)
{
	struct nccl_log *log = import->state;

	return log->test ? log->test : nccl_text_head_of_test(import);
}

/* "# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907" */
static void nccl_text_take_version(struct import *import)
{
	double library;

	nccl_text_head_of_test(import);
	building_tool(import, "nccl-tests %.20s (text)", import->v[0]);
	if (import->v[1] && lines_real(import->v[1], &library))
		nccl_build_version_fact(import, library);
}

static void nccl_text_take_rccl(struct import *import)
{
	nccl_text_current_test(import);
	((struct nccl_log *)import->state)->file.backend = "hip";
	building_tool(import, "rccl-tests %.60s (text)", import->v[0]);
}

static void nccl_text_take_program(struct import *import)
{
	struct nccl_test *t = nccl_text_head_of_test(import);

	t->collective = nccl_build_collective(import->v[0]);
	if (!t->collective)
		building_error(import, "'%.60s' is not a known collective", import->v[0]);
}

/* "# nThread 1 nGpus 8 minBytes 8 ... warmup iters: 5 iters: 20 ... graph: 0" */
static void nccl_text_take_setup(struct import *import)
{
	static const char *const facts[][2] = {
		{ " warmup iters: ", "warm-up iterations" }, { " iters: ", "iterations" },
		{ " agg iters: ", "aggregated iterations" }, { " validation: ", "validation" },
		{ " graph: ", "CUDA graph launches" },       { " unalign: ", "unaligned by" },
	};
	struct nccl_test *t = nccl_text_head_of_test(import);
	char *setup = import->v[2], *p;

	t->threads = atoi(import->v[0]);
	t->gpus = atoi(import->v[1]);
	/* "iters:" also ends "warmup iters:" and "agg iters:". */
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		char word[16];

		p = strstr(setup, facts[i][0]);
		while (p && i == 1 && p > setup + 6 &&
		       (strncmp(p - 6, "warmup", 6) == 0 || strncmp(p - 3, "agg", 3) == 0))
			p = strstr(p + 1, facts[i][0]);
		if (p && sscanf(p + strlen(facts[i][0]), "%15s", word) == 1)
			building_fact(import, facts[i][1], word);
	}
}

/*
 * "#  Rank  0 Group  0 Pid 6899 on host device  0 [0000:04:00] NVIDIA H100 80GB HBM3"; versions
 * before 2.13 print no group.
 */
static void nccl_text_take_rank(struct import *import)
{
	struct nccl_log *log = import->state;
	struct nccl_test *t = log->test;
	bool grouped = import->v[5] != NULL;
	char **rest = import->v + grouped; /* host, device, PCI address, name */

	if (strlen(import->v[0]) >= 7 || strlen(rest[2]) >= 7 ||
	    (grouped && strlen(import->v[1]) >= 10))
		return;
	/* A list after a table belongs to another test whose heading was lost. */
	if (!t || t->rows || t->concluded)
		t = log->test = nccl_build_begin_test(&log->file, import->line);
	t->mentioned = log->mentioned;
	nccl_build_add_rank(t, (struct nccl_rank){ .rank = atoi(import->v[0]),
						   .group = grouped ? atoi(import->v[1]) : 0,
						   .host = rest[1],
						   .device = atoi(rest[2]),
						   /* "[0x06]" of old versions is no address. */
						   .pci = strchr(rest[3], ':') ? rest[3] : "",
						   .name = rest[4],
						   .line = import->line });
}

static void nccl_text_take_heading(struct import *import)
{
	struct nccl_log *log = import->state;
	bool redop, root;
	char *heading = xasprintf("size count %s", import->v[0]);

	lines_heading(import, heading, ' ');
	free(heading);
	redop = lines_column(import, "redop", 0) >= 0;
	root = lines_column(import, "root", 0) >= 0;
	log->words = import->column_count + (lines_column(import, "timestamp", 0) >= 0);
	log->of_cpu = lines_column(import, "cputime", 0) >= 0;
	if (lines_column(import, "time", 0) < 0 && !log->of_cpu)
		building_error(import, "the heading has no column 'time'");
	if (lines_column(import, "algbw", 0) < 0 || lines_column(import, "busbw", 0) < 0)
		building_error(import, "the heading has no columns 'algbw' and 'busbw'");
	nccl_text_current_test(import)->headed = true;
	log->columns = redop && root ? "redop root" : redop ? "redop" : root ? "root" : "";
}

/* The summary of a test; its verdict on the bounds or the bandwidth. */
static struct nccl_test *nccl_text_conclude(struct import *import, const char *what)
{
	struct nccl_test *t = nccl_text_current_test(import);
	char words[80];

	t->concluded = true;
	if (!strstr(import->v[1], "FAILED"))
		return t;
	snprintf(words, sizeof(words), "%s : %.20s FAILED", what, import->v[0]);
	nccl_build_set_words(&t->failed, words);
	return t;
}

static void nccl_text_take_bounds(struct import *import)
{
	nccl_text_conclude(import, "Out of bounds values");
}

static void nccl_text_take_average(struct import *import)
{
	struct nccl_test *t = nccl_text_conclude(import, "Avg bus bandwidth");

	if (strstr(import->v[1], "FAILED"))
		t->failed_rows = 0;
}

static void nccl_text_take_error(struct import *import)
{
	nccl_build_set_words(&nccl_text_current_test(import)->broken, import->v[0]);
}

/* Finds a failure message anywhere in a line, also after an incomplete row. */
static bool nccl_text_read_failure(struct import *import, const char *text)
{
	const struct nccl_log *log = import->state;
	const char *mark = strchr(text, 'T'); /* most lines have none */

	if (mark)
		mark = lines_find_any(text, "Test NCCL failure", "Test CUDA failure",
				      "Test timeout", "Test HIP failure", "Test RCCL failure",
				      "Test failure");

	if (mark) {
		nccl_build_set_words(&nccl_text_current_test(import)->broken, mark);
		return true;
	}
	/* While a test runs, a launcher's failure message belongs to it. */
	if (!log->test || log->test->concluded || !lines_is_failure(text))
		return false;
	nccl_build_set_words(&log->test->broken, text);
	return true;
}

static bool nccl_text_is_whole_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

/*
 * Assigns fields to columns. Old versions print blanks for an operation that does not apply, and a
 * test measured only in place leaves the other columns empty. False: the row is incomplete.
 */
static bool nccl_text_align_fields(struct import *import, size_t words)
{
	static char nothing[] = "";
	size_t count = import->field_count;
	char **fields = import->fields;
	int redop = lines_column(import, "redop", 0);
	int time = lines_column(import, "time", 0), other = lines_column(import, "time", 1);
	size_t place = other > 0 ? (size_t)(other - time) : 0, at, blanks;

	if (count == words)
		return true;
	if (count + 1 == words && redop > 0 && !isalpha((unsigned char)*fields[redop])) {
		at = (size_t)redop;
		blanks = 1;
	} else if (place && count + place == words) {
		at = (size_t)time;
		blanks = place;
	} else {
		return false;
	}
	memmove(fields + at + blanks, fields + at, (count - at) * sizeof(*fields));
	for (size_t i = 0; i < blanks; i++)
		fields[at + i] = nothing;
	return true;
}

static void nccl_text_read_place(struct import *import, struct nccl_row row, bool in_place)
{
	struct nccl_log *log = import->state;
	int nth = in_place && !log->in_place;
	const char *time = lines_cell(import, "time", nth);
	const char *algbw = lines_cell(import, "algbw", nth);
	const char *busbw = lines_cell(import, "busbw", nth);
	char *wrong = lines_cell(import, "#wrong", nth);

	if (!*time)
		return;
	if (!lines_real(time, &row.time_us) || !lines_real(algbw, &row.algbw_gbs) ||
	    !lines_real(busbw, &row.busbw_gbs))
		building_error(import, "expected time, algbw and busbw, not '%.20s %.20s %.20s'",
			       time, algbw, busbw);
	if (!(row.time_us > 0) || row.algbw_gbs < 0 || row.busbw_gbs < 0)
		building_error(import,
			       "expected a time above 0 and bandwidths of at least 0, not '%.20s "
			       "%.20s %.20s'",
			       time, algbw, busbw);
	row.in_place = in_place;
	row.counted = *wrong;
	if (!row.counted)
		wrong = lines_cell(import, "error", nth);
	wrong[strcspn(wrong, "*")] = '\0'; /* RCCL marks out-of-bounds values with '*' */
	if (!lines_real(wrong, &row.wrong))
		row.wrong = NAN;
	if (row.wrong < 0)
		building_error(import, "expected a count of wrong elements, not '%.20s'", wrong);
	row.time_half = lines_half_digit(time);
	row.algbw_half = lines_half_digit(algbw);
	row.busbw_half = lines_half_digit(busbw);
	nccl_build_add_row(&log->file, &row);
}

static void nccl_text_read_cells(struct import *import, struct nccl_log *log)
{
	struct nccl_row row = { .test = log->file.test_count - 1, .line = import->line };
	const char *root = lines_cell(import, "root", 0);

	if (!lines_real(import->fields[0], &row.bytes))
		building_error(import, "expected a size, not '%.40s'", import->fields[0]);
	if (row.bytes == 0) {
		building_left_out(import, "rows of size 0");
		return;
	}
	snprintf(row.type, sizeof(row.type), "%s", import->fields[2]);
	snprintf(row.operation, sizeof(row.operation), "%s", lines_cell(import, "redop", 0));
	row.root = *root ? atoi(root) : -1;
	if (lines_column(import, "i_min", 0) >= 0)
		building_left_out(import, "times of individual iterations");
	if (!log->in_place)
		nccl_text_read_place(import, row, false);
	nccl_text_read_place(import, row, true);
}

/* The fields are a row of a test. */
static void nccl_text_read_row(struct import *import, struct nccl_log *log)
{
	struct nccl_test *t = log->test;
	size_t count = import->field_count;

	if (t && !t->collective && import->options->collective)
		t->collective = nccl_build_collective(import->options->collective);
	if (!t || !t->rank_count) {
		building_error(import, "the devices are unknown, because the lines '# Rank ...' "
				       "are missing");
		return;
	}
	if (!import->column_count) {
		building_error(import,
			       "the columns are unknown, because the line '# size count type "
			       "...' is missing");
		return;
	}
	t->columns = log->columns;
	t->rows++;
	if (log->of_cpu) {
		building_left_out(import, "cputime of option -C (CPU time, not the time of the "
					  "collective)");
		return;
	}
	if (log->file.row_count >= IMPORT_MOST_ROWS)
		building_error(import,
			       "the file has more than %zu rows, the maximum that import reads",
			       IMPORT_MOST_ROWS);
	if (nccl_text_align_fields(import, log->words)) {
		nccl_text_read_cells(import, log);
		return;
	}
	snprintf(log->bad, sizeof(log->bad), "expected the %zu columns of the heading, not %zu",
		 log->words, count);
	log->bad_line = import->line;
	if (count > log->words)
		building_error(import, "%s", log->bad);
	nccl_build_set_words(&t->broken, "a row lacks columns; the output may be truncated");
}

/*
 * The program in a command line, "mpirun ... ./build/all_reduce_perf -b 8"; none if it names two.
 */
static void nccl_text_read_command(struct nccl_log *log, const char *text)
{
	const struct nccl_collective *found = NULL;

	for (const char *p = strstr(text, "_perf"), *start; p; p = strstr(p + 1, "_perf")) {
		const struct nccl_collective *c;

		for (start = p;
		     start > text && (isalpha((unsigned char)start[-1]) || start[-1] == '_');)
			start--;
		c = nccl_build_collective(start);
		log->mentioned = found && found != c ? NULL : c;
		found = c ? c : found;
	}
}

static void nccl_text_take_other(struct import *import)
{
	static const char *const types[] = { "int",    "uint", "half", "float", "double",
					     "bfloat", "f8e",  "fp8",  "char" };
	struct nccl_log *log = import->state;
	char *text = import->v[0], **fields = import->fields;
	bool row = false;
	size_t count;

	nccl_text_read_command(log, text);
	/* Report the failure, not the row that it interrupted. */
	if (nccl_text_read_failure(import, text) || !isdigit((unsigned char)*text))
		return;
	count = lines_row(import, text, ' ', IMPORT_FIELDS);
	if (count < 3 || !nccl_text_is_whole_number(fields[0]) ||
	    !nccl_text_is_whole_number(fields[1]))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(types) && !row; i++)
		row = text_starts_with(fields[2], types[i]);
	/* In a complete row, any word may be a type. */
	if (row || (count == log->words && isalpha((unsigned char)*fields[2])))
		nccl_text_read_row(import, log);
}

static const struct import_rule nccl_lines[] = {
	{ "# nccl-tests version %w *nccl-library=%n", nccl_text_take_version },
	{ "# nccl-tests version %w", nccl_text_take_version },
	{ "rccl-tests: Version %w", nccl_text_take_rccl },
	{ "# Collective test starting: %w", nccl_text_take_program },
	{ "# nThread %d nGpus %d %r", nccl_text_take_setup },
	{ "# Rank %d Group %d *on %w device %d [%t] %r", nccl_text_take_rank },
	{ "# Rank %d *on %w device %d [%t] %r", nccl_text_take_rank },
	{ "Rank %d Group %d *on %w device %d [%t] %r", nccl_text_take_rank },
	{ "Rank %d *on %w device %d [%t] %r", nccl_text_take_rank },
	{ "# in-place", INTO(struct nccl_log, in_place) },
	{ "# size count %r", nccl_text_take_heading },
	{ "# Out of bounds values : %d %r", nccl_text_take_bounds },
	{ "# Avg bus bandwidth : %n %r", nccl_text_take_average },
	{ "# error: %r", nccl_text_take_error },
	{ "#" },
	{ "*INFO NCCL version %w+cuda", .fact = "nccl" },
	{ "NCCL version %w+cuda", .fact = "nccl" },
	{ "%r", nccl_text_take_other },
	{ 0 },
};

static void nccl_text_finish(struct import *import)
{
	const struct nccl_log *log = import->state;
	const char *collective = import->options->collective;

	if (collective && !nccl_build_collective(collective))
		building_error(import,
			       "--collective: unknown collective '%.40s'; known: all_reduce, "
			       "all_gather, reduce_scatter, broadcast, reduce, send_recv, "
			       "all_to_all",
			       collective);
	if (log->bad_line && !log->file.row_count)
		building_error_at(import, log->bad_line, "%s", log->bad);
	if (!building_stopped(import))
		nccl_build(import);
}

const struct import_format import_nccl_text = {
	.name = "nccl-text",
	.summary = "nccl-tests, rccl-tests: all_reduce_perf ... > FILE",
	.marks = { "# nThread", "# nccl-tests version", "# Collective test starting", "#  Rank",
		   "#   Rank", "# Rank", "# Using devices", "#       size         count" },
	.silent = "samples, clocks, power, temperatures, driver",
	.reads_failures = true,
	.tool = "nccl-tests (text)",
	.rules = nccl_lines,
	.state_bytes = sizeof(struct nccl_log),
	.finish = nccl_text_finish,
	.release = nccl_build_release,
};
