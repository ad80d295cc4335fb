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
#include "import/formats/nccl.h"

struct nccl_log {
	struct nccl_file file;
	struct nccl_test *test;                  /* test that the lines belong to; NULL: none yet */
	const struct nccl_collective *mentioned; /* in the last command line; NULL */
	struct import_table table;
	const char *columns; /* of the test: nccl.h */
	size_t words;        /* per row; a timestamp has two */
	bool of_cpu;         /* times are CPU times */
	bool in_place;       /* only in-place figures */
	size_t bad_line;     /* line of an incomplete row; 0: none */
	char bad[128];
};

/* Begins a test if none has begun, or if the last one is past its heading. */
static struct nccl_test *nccl_text_head_of_test(struct nccl_log *log, size_t line)
{
	if (!log->test || log->test->rank_count || log->test->headed || log->test->broken) {
		log->test = nccl_begin_test(&log->file, line);
		log->test->mentioned = log->mentioned;
		log->table.count = 0;
		log->in_place = false;
	}
	return log->test;
}

static struct nccl_test *nccl_text_current_test(struct nccl_log *log, size_t line)
{
	return log->test ? log->test : nccl_text_head_of_test(log, line);
}

/* "# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907" */
static enum status nccl_text_take_version(const struct import_line *l)
{
	double library;

	nccl_text_head_of_test(l->state, l->number);
	import_tool(l->import, "nccl-tests %.20s (text)", l->v[0]);
	if (l->v[1] && import_real(l->v[1], &library))
		nccl_version_fact(l->import, library);
	return STATUS_OK;
}

static enum status take_rccl(const struct import_line *l)
{
	struct nccl_log *log = l->state;

	nccl_text_current_test(log, l->number);
	log->file.backend = "hip";
	import_tool(l->import, "rccl-tests %.60s (text)", l->v[0]);
	return STATUS_OK;
}

static enum status take_program(const struct import_line *l)
{
	struct nccl_test *t = nccl_text_head_of_test(l->state, l->number);

	t->collective = nccl_collective(l->v[0]);
	if (t->collective)
		return STATUS_OK;
	return import_error(l->import, l->number, "'%.60s' is not a known collective", l->v[0]);
}

/* "# nThread 1 nGpus 8 minBytes 8 ... warmup iters: 5 iters: 20 ... graph: 0" */
static enum status nccl_text_take_setup(const struct import_line *l)
{
	static const char *const facts[][2] = {
		{ " warmup iters: ", "warm-up iterations" }, { " iters: ", "iterations" },
		{ " agg iters: ", "aggregated iterations" }, { " validation: ", "validation" },
		{ " graph: ", "CUDA graph launches" },       { " unalign: ", "unaligned by" },
	};
	struct nccl_test *t = nccl_text_head_of_test(l->state, l->number);
	char *setup = l->v[2], *p;

	t->threads = atoi(l->v[0]);
	t->gpus = atoi(l->v[1]);
	/* "iters:" also ends "warmup iters:" and "agg iters:". */
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		char word[16];

		p = strstr(setup, facts[i][0]);
		while (p && i == 1 && p > setup + 6 &&
		       (strncmp(p - 6, "warmup", 6) == 0 || strncmp(p - 3, "agg", 3) == 0))
			p = strstr(p + 1, facts[i][0]);
		if (p && sscanf(p + strlen(facts[i][0]), "%15s", word) == 1)
			import_fact(l->import, facts[i][1], word);
	}
	return STATUS_OK;
}

static void nccl_text_add_listed_rank(struct nccl_log *log, size_t line, struct nccl_rank rank)
{
	struct nccl_test *t = log->test;

	/* A list after a table belongs to another test whose heading was lost. */
	if (!t || t->rows || t->concluded)
		t = log->test = nccl_begin_test(&log->file, line);
	t->mentioned = log->mentioned;
	rank.line = line;
	if (!strchr(rank.pci, ':')) /* "[0x06]" of old versions is no address */
		rank.pci = "";
	nccl_add_rank(t, rank);
}

/* "#  Rank  0 Group  0 Pid 6899 on host device  0 [0000:04:00] NVIDIA H100 80GB HBM3" */
static enum status nccl_text_take_rank(const struct import_line *l)
{
	if (strlen(l->v[0]) < 7 && strlen(l->v[1]) < 10 && strlen(l->v[3]) < 7)
		nccl_text_add_listed_rank(l->state, l->number,
					  (struct nccl_rank){ .rank = atoi(l->v[0]),
							      .group = atoi(l->v[1]),
							      .device = atoi(l->v[3]),
							      .host = l->v[2],
							      .pci = l->v[4],
							      .name = l->v[5] });
	return STATUS_OK;
}

/* Versions before 2.13 print no group. */
static enum status take_old_rank(const struct import_line *l)
{
	if (strlen(l->v[0]) < 7 && strlen(l->v[2]) < 7)
		nccl_text_add_listed_rank(l->state, l->number,
					  (struct nccl_rank){ .rank = atoi(l->v[0]),
							      .device = atoi(l->v[2]),
							      .host = l->v[1],
							      .pci = l->v[3],
							      .name = l->v[4] });
	return STATUS_OK;
}

static enum status nccl_text_take_heading(const struct import_line *l)
{
	struct nccl_log *log = l->state;
	char heading[1024];

	snprintf(heading, sizeof(heading), "size count %.1000s", l->v[0]);
	import_heading(&log->table, heading, ' ');
	log->words = log->table.count + (import_column(&log->table, "timestamp", 0) >= 0);
	log->of_cpu = import_column(&log->table, "cputime", 0) >= 0;
	if (import_column(&log->table, "time", 0) < 0 && !log->of_cpu)
		return import_error(l->import, l->number, "the heading has no column 'time'");
	if (import_column(&log->table, "algbw", 0) < 0 ||
	    import_column(&log->table, "busbw", 0) < 0)
		return import_error(l->import, l->number,
				    "the heading has no columns 'algbw' and 'busbw'");
	nccl_text_current_test(log, l->number)->headed = true;
	if (import_column(&log->table, "redop", 0) >= 0)
		log->columns = import_column(&log->table, "root", 0) >= 0 ? "redop root" : "redop";
	else
		log->columns = import_column(&log->table, "root", 0) >= 0 ? "root" : "";
	return STATUS_OK;
}

static enum status nccl_text_take_bounds(const struct import_line *l)
{
	struct nccl_log *log = l->state;
	struct nccl_test *t = nccl_text_current_test(log, l->number);
	char words[80];

	t->concluded = true;
	if (strstr(l->v[1], "FAILED")) {
		snprintf(words, sizeof(words), "Out of bounds values : %.20s FAILED", l->v[0]);
		nccl_set_words(&t->failed, words);
	}
	return STATUS_OK;
}

static enum status take_average(const struct import_line *l)
{
	struct nccl_log *log = l->state;
	struct nccl_test *t = nccl_text_current_test(log, l->number);
	char words[80];

	t->concluded = true;
	if (strstr(l->v[1], "FAILED")) {
		snprintf(words, sizeof(words), "Avg bus bandwidth : %.20s FAILED", l->v[0]);
		nccl_set_words(&t->failed, words);
		t->failed_rows = 0;
	}
	return STATUS_OK;
}

static enum status nccl_text_take_error(const struct import_line *l)
{
	nccl_set_words(&nccl_text_current_test(l->state, l->number)->broken, l->v[0]);
	return STATUS_OK;
}

/* Finds a failure message anywhere in a line, also after an incomplete row. */
static bool nccl_text_read_failure(struct nccl_log *log, size_t line, const char *text)
{
	static const char *const own[] = {
		"Test NCCL failure", "Test CUDA failure", "Test timeout",
		"Test HIP failure",  "Test RCCL failure", "Test failure"
	};

	for (size_t i = 0; i < ARRAY_SIZE(own) && strchr(text, 'T'); i++) {
		const char *mark = strstr(text, own[i]);

		if (mark) {
			nccl_set_words(&nccl_text_current_test(log, line)->broken, mark);
			return true;
		}
	}
	/* While a test runs, a launcher's failure message belongs to it. */
	if (!log->test || log->test->concluded || !import_is_failure(text))
		return false;
	nccl_set_words(&log->test->broken, text);
	return true;
}

static bool nccl_text_is_whole_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

/* In a complete row, any word may be a type. */
static bool nccl_text_is_type(const char *word)
{
	static const char *const types[] = { "int",    "uint", "half", "float", "double",
					     "bfloat", "f8e",  "fp8",  "char" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_starts_with(word, types[i]))
			return true;
	return false;
}

/*
 * Assigns fields to columns. Old versions print blanks for an operation that does not apply, and a
 * test measured only in place leaves the other columns empty. False: the row is incomplete.
 */
static bool align_fields(const struct nccl_log *log, char **fields, size_t count)
{
	static char nothing[] = "";
	int redop = import_column(&log->table, "redop", 0);
	int other = import_column(&log->table, "time", 1);
	size_t place = other > 0 ? (size_t)(other - import_column(&log->table, "time", 0)) : 0;
	size_t at, blanks;

	if (count == log->words)
		return true;
	if (count + 1 == log->words && redop > 0 && !isalpha((unsigned char)*fields[redop])) {
		at = (size_t)redop;
		blanks = 1;
	} else if (place && count + place == log->words) {
		at = (size_t)import_column(&log->table, "time", 0);
		blanks = place;
	} else {
		return false;
	}
	memmove(fields + at + blanks, fields + at, (count - at) * sizeof(*fields));
	for (size_t i = 0; i < blanks; i++)
		fields[at + i] = nothing;
	return true;
}

static char *nccl_cell(const struct nccl_log *log, char **fields, const char *name, int nth)
{
	static char nothing[] = "";
	int column = import_column(&log->table, name, nth);

	return column >= 0 ? fields[column] : nothing;
}

static enum status nccl_text_read_place(struct import *import, struct nccl_log *log, size_t line,
					char **fields, struct nccl_row row)
{
	int nth = row.in_place && !log->in_place;
	const char *time = nccl_cell(log, fields, "time", nth);
	const char *algbw = nccl_cell(log, fields, "algbw", nth);
	const char *busbw = nccl_cell(log, fields, "busbw", nth);
	char *wrong = nccl_cell(log, fields, "#wrong", nth);

	if (!*time)
		return STATUS_OK;
	if (!import_real(time, &row.time_us) || !import_real(algbw, &row.algbw_gbs) ||
	    !import_real(busbw, &row.busbw_gbs))
		return import_error(import, line,
				    "expected time, algbw and busbw, not '%.20s %.20s %.20s'", time,
				    algbw, busbw);
	if (!(row.time_us > 0) || row.algbw_gbs < 0 || row.busbw_gbs < 0)
		return import_error(import, line,
				    "expected a time above 0 and bandwidths not below it, not "
				    "'%.20s %.20s %.20s'",
				    time, algbw, busbw);
	row.counted = *wrong;
	if (!row.counted)
		wrong = nccl_cell(log, fields, "error", nth);
	wrong[strcspn(wrong, "*")] = '\0'; /* RCCL marks out-of-bounds values with '*' */
	if (!import_real(wrong, &row.wrong))
		row.wrong = NAN;
	if (row.wrong < 0)
		return import_error(import, line,
				    "expected a number of wrong elements, not '%.20s'", wrong);
	row.time_half = import_half_digit(time);
	row.algbw_half = import_half_digit(algbw);
	row.busbw_half = import_half_digit(busbw);
	ARRAY_GROW(log->file.rows, log->file.row_count, log->file.row_capacity);
	log->file.rows[log->file.row_count++] = row;
	return STATUS_OK;
}

/* True if the row belongs to a test, and gpuproof has a suite for it. */
static enum status nccl_text_check_test(struct import *import, struct nccl_log *log, size_t line,
					bool *wanted)
{
	struct nccl_test *t = log->test;

	*wanted = false;
	if (t && !t->collective && import->options->collective)
		t->collective = nccl_collective(import->options->collective);
	if (!t || !t->rank_count)
		return import_error(import, line, "no line '# Rank ...' names the devices");
	if (!log->table.count)
		return import_error(import, line,
				    "no line '# size count type ...' names the columns");
	t->columns = log->columns;
	t->rows++;
	if (log->of_cpu)
		import_left_out(import, "cputime of option -C (the CPU's time differs from "
					"the collective's)");
	else
		*wanted = true;
	return STATUS_OK;
}

static enum status nccl_text_read_cells(struct import *import, struct nccl_log *log, size_t line,
					char **fields)
{
	struct nccl_row row = { .test = log->file.test_count - 1, .line = line };
	const char *root = nccl_cell(log, fields, "root", 0);
	enum status status;

	if (!import_real(fields[0], &row.bytes))
		return import_error(import, line, "expected a size, not '%.40s'", fields[0]);
	if (row.bytes == 0) {
		import_left_out(import, "rows of size 0");
		return STATUS_OK;
	}
	snprintf(row.type, sizeof(row.type), "%s", fields[2]);
	snprintf(row.operation, sizeof(row.operation), "%s", nccl_cell(log, fields, "redop", 0));
	row.root = *root ? atoi(root) : -1;
	if (import_column(&log->table, "i_min", 0) >= 0)
		import_left_out(import, "times of single iterations");
	status = log->in_place ? STATUS_OK : nccl_text_read_place(import, log, line, fields, row);
	row.in_place = true;
	return status == STATUS_OK ? nccl_text_read_place(import, log, line, fields, row) : status;
}

static enum status take_nccl_row(struct import *import, struct nccl_log *log, size_t line,
				 char *text)
{
	char *fields[IMPORT_COLUMNS + 16];
	size_t count = import_fields(text, ' ', fields, IMPORT_COLUMNS);
	bool wanted;
	enum status status;

	if (count < 3 || !nccl_text_is_whole_number(fields[0]) ||
	    !nccl_text_is_whole_number(fields[1]) ||
	    (!nccl_text_is_type(fields[2]) &&
	     (count != log->words || !isalpha((unsigned char)*fields[2]))))
		return STATUS_OK;
	status = nccl_text_check_test(import, log, line, &wanted);
	if (status != STATUS_OK || !wanted)
		return status;
	if (!align_fields(log, fields, count)) {
		if (count > log->words)
			return import_error(import, line,
					    "expected the %zu columns of the heading, not %zu",
					    log->words, count);
		snprintf(log->bad, sizeof(log->bad),
			 "expected the %zu columns of the heading, not %zu", log->words, count);
		log->bad_line = line;
		nccl_set_words(&log->test->broken, "a row without all its columns");
		return STATUS_OK;
	}
	if (log->file.row_count >= IMPORT_MOST_ROWS)
		return import_error(import, line, "more than %zu rows; import reads no more",
				    IMPORT_MOST_ROWS);
	return nccl_text_read_cells(import, log, line, fields);
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
		c = nccl_collective(start);
		log->mentioned = found && found != c ? NULL : c;
		found = c ? c : found;
	}
}

static enum status nccl_text_take_other(const struct import_line *l)
{
	struct nccl_log *log = l->state;

	nccl_text_read_command(log, l->v[0]);

	/* Report the failure, not the row that it interrupted. */
	if (nccl_text_read_failure(log, l->number, l->v[0]) || !isdigit((unsigned char)*l->v[0]))
		return STATUS_OK;
	return take_nccl_row(l->import, log, l->number, l->v[0]);
}

static const struct import_rule nccl_lines[] = {
	{ "# nccl-tests version %w *nccl-library=%n", nccl_text_take_version },
	{ "# nccl-tests version %w", nccl_text_take_version },
	{ "rccl-tests: Version %w", take_rccl },
	{ "# Collective test starting: %w", take_program },
	{ "# nThread %d nGpus %d %r", nccl_text_take_setup },
	{ "# Rank %d Group %d *on %w device %d [%t] %r", nccl_text_take_rank },
	{ "# Rank %d *on %w device %d [%t] %r", take_old_rank },
	{ "Rank %d Group %d *on %w device %d [%t] %r", nccl_text_take_rank },
	{ "Rank %d *on %w device %d [%t] %r", take_old_rank },
	{ "# in-place", INTO(struct nccl_log, in_place) },
	{ "# size count %r", nccl_text_take_heading },
	{ "# Out of bounds values : %d %r", nccl_text_take_bounds },
	{ "# Avg bus bandwidth : %n %r", take_average },
	{ "# error: %r", nccl_text_take_error },
	{ "#" },
	{ "*INFO NCCL version %w+cuda", .fact = "nccl" },
	{ "NCCL version %w+cuda", .fact = "nccl" },
	{ "%r", nccl_text_take_other },
	{ 0 },
};

static enum status nccl_text_finish(struct import *import, void *state)
{
	struct nccl_log *log = state;
	const char *collective = import->options->collective;

	if (collective && !nccl_collective(collective))
		return import_error(import, 1,
				    "--collective: there is no '%.40s'; there are all_reduce, "
				    "all_gather, reduce_scatter, broadcast, reduce, send_recv, "
				    "all_to_all",
				    collective);
	if (log->bad_line && !log->file.row_count)
		return import_error(import, log->bad_line, "%s", log->bad);
	return nccl_build(import, &log->file);
}

static void nccl_text_release(void *state)
{
	nccl_release(&((struct nccl_log *)state)->file);
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
	.release = nccl_text_release,
};
