/*
 * nccl-tests' table. Lines that start with '#' say which devices ran, the columns and, in newer
 * versions, which collective. Columns differ between versions and collectives; the last eight are
 * always time, algbw, busbw and wrong elements, out of place and in place, and the first three
 * size, count and type. A row that has not as many as the heading was cut: which of them it lost is
 * not known.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/nccl.h"

#define COLUMNS 24
/* Some 400 MB of memory; nccl-tests prints a few hundred at most. */
#define MOST_CASES 250000

struct table {
	struct nccl_row row; /* what all rows have in common */
	size_t columns;      /* 0: no heading yet */
};

/* "#  Rank  0 Group  0 Pid 6899 on host device  0 [0000:04:00] NVIDIA H100 80GB HBM3" */
static void read_rank(struct import *import, const char *line)
{
	const char *rank = strstr(line, "Rank "), *name = strstr(line, "] ");
	int number;

	if (rank && name && sscanf(rank, "Rank %d", &number) == 1 && number >= 0)
		import_device(import, "cuda", number, name + 2);
}

/*
 * "# size count type redop root time algbw busbw #wrong time ..."
 */
static size_t columns_of(const char *line)
{
	char *copy = xstrdup(line + 1), *fields[COLUMNS];
	size_t count = import_fields(copy, ' ', fields, COLUMNS);
	bool heading =
		count > 3 && strcmp(fields[0], "size") == 0 && strcmp(fields[1], "count") == 0;

	free(copy);
	return heading ? count : 0;
}

static void read_comment(struct import *import, const char *line, struct table *table)
{
	const char *program = strstr(line, "Collective test starting: ");
	size_t columns = columns_of(line);

	read_rank(import, line);
	if (columns)
		table->columns = columns;
	if (program && !import->options->collective)
		table->row.collective =
			nccl_collective(program + strlen("Collective test starting: "));
}

static enum status read_values(struct import *import, size_t line, char **v, struct nccl_row row)
{
	if (!import_real(v[0], &row.time_us) || !import_real(v[1], &row.algbw_gbs) ||
	    !import_real(v[2], &row.busbw_gbs))
		return import_error(import, line,
				    "expected time, algbw and busbw, not '%.20s %.20s %.20s'", v[0],
				    v[1], v[2]);
	if (!(row.time_us > 0) || row.algbw_gbs < 0 || row.busbw_gbs < 0)
		return import_error(import, line,
				    "expected a time above 0 and bandwidths not below it, not "
				    "'%.20s %.20s %.20s'",
				    v[0], v[1], v[2]);
	if (!import_real(v[3], &row.wrong))
		row.wrong = NAN;
	if (row.wrong < 0)
		return import_error(import, line,
				    "expected a number of wrong elements, not '%.20s'", v[3]);
	/* Before version 2.11 the column held the largest error, not a count. */
	if (row.wrong < 1)
		row.wrong = 0;
	if (!nccl_add(import, &row))
		return import_error(import, line,
				    "this row repeats an earlier one (is it the output of several "
				    "runs?)");
	return STATUS_OK;
}

static enum status read_row(struct import *import, size_t line, char *text,
			    const struct table *table)
{
	char *fields[COLUMNS];
	size_t count = import_fields(text, ' ', fields, COLUMNS);
	struct nccl_row row = table->row;
	enum status status;

	if (!row.collective)
		return import_error(import, line,
				    "which collective ran is not known: say it with --collective");
	if (!import->result->device_count)
		return import_error(import, line, "no line '# Rank ...' says which devices ran");
	if (table->columns < 11)
		return import_error(import, line,
				    "no line '# size count type ...' says what the columns are");
	if (count != table->columns)
		return import_error(import, line,
				    "expected the %zu columns of the heading, not %zu",
				    table->columns, count);
	if (import->result->case_count >= MOST_CASES)
		return import_error(import, line, "more than the %d results that are read",
				    MOST_CASES);
	if (!import_real(fields[0], &row.bytes) || row.bytes < 0)
		return import_error(import, line, "expected a size, not '%.40s'", fields[0]);
	row.type = fields[2];
	row.ranks = import->result->device_count;
	status = read_values(import, line, &fields[count - 8], row);
	row.in_place = true;
	return status == STATUS_OK ? read_values(import, line, &fields[count - 4], row) : status;
}

static enum status nccl_text_read(struct import *import)
{
	struct import_lines lines = import_lines(import);
	struct table table = { 0 };
	enum status status = STATUS_OK;

	if (import->options->collective)
		table.row.collective = nccl_collective(import->options->collective);
	import_tool(import, "nccl-tests (text)");
	while (status == STATUS_OK && import_next(&lines)) {
		const char *start = lines.line + strspn(lines.line, " \t");

		if (*start == '#')
			read_comment(import, start, &table);
		else if (*start >= '0' && *start <= '9')
			status = read_row(import, lines.number, lines.line, &table);
	}
	import_lines_end(&lines);
	return status;
}

const struct import_format import_nccl_text = {
	.name = "nccl-text",
	.summary = "nccl-tests: all_reduce_perf ... > FILE",
	.read = nccl_text_read,
};
