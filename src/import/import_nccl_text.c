/*
 * nccl-tests' table. Lines that start with '#' say which devices ran and, in newer versions, which collective. Columns
 * differ between versions and collectives; the last eight are always time, algbw, busbw and wrong elements, out of place
 * and in place, and the first three size, count and type.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/nccl.h"

#define COLUMNS 24

/* "#  Rank  0 Group  0 Pid 6899 on host device  0 [0000:04:00] NVIDIA H100 80GB HBM3" */
static void read_rank(struct import *import, const char *line)
{
	const char *rank = strstr(line, "Rank "), *name = strstr(line, "] ");
	int number;

	if (rank && name && sscanf(rank, "Rank %d", &number) == 1 && number >= 0)
		import_device(import, "cuda", number, name + 2);
}

static void read_comment(struct import *import, const char *line, struct nccl_row *row)
{
	const char *program = strstr(line, "Collective test starting: ");

	read_rank(import, line);
	if (program && !import->options->collective)
		row->collective = nccl_collective(program + strlen("Collective test starting: "));
}

static enum status read_values(struct import *import, size_t line, char **v, struct nccl_row row)
{
	if (!import_real(v[0], &row.time_us) || !import_real(v[1], &row.algbw_gbs) ||
	    !import_real(v[2], &row.busbw_gbs))
		return import_error(import, line,
				    "expected time, algbw and busbw, not '%.20s %.20s %.20s'", v[0],
				    v[1], v[2]);
	if (!import_real(v[3], &row.wrong))
		row.wrong = NAN;
	/* Before version 2.11 the column held the largest error, not a count. */
	if (row.wrong < 1)
		row.wrong = 0;
	nccl_add(import, &row);
	return STATUS_OK;
}

static enum status read_row(struct import *import, size_t line, char *text, struct nccl_row row)
{
	char *fields[COLUMNS];
	size_t count = import_fields(text, ' ', fields, COLUMNS);
	enum status status;

	if (count < 11)
		return import_error(import, line, "expected at least 11 columns, not %zu", count);
	if (!row.collective)
		return import_error(import, line,
				    "which collective ran is not known: say it with --collective");
	if (!import->result->device_count)
		return import_error(import, line, "no line '# Rank ...' says which devices ran");
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
	struct nccl_row row = { 0 };
	enum status status = STATUS_OK;

	if (import->options->collective)
		row.collective = nccl_collective(import->options->collective);
	import_tool(import, "nccl-tests (text)");
	while (status == STATUS_OK && import_next(&lines)) {
		const char *start = lines.line + strspn(lines.line, " \t");

		if (*start == '#')
			read_comment(import, start, &row);
		else if (*start >= '0' && *start <= '9')
			status = read_row(import, lines.number, lines.line, row);
	}
	import_lines_end(&lines);
	return status;
}

const struct import_format import_nccl_text = {
	.name = "nccl-text",
	.summary = "nccl-tests: all_reduce_perf ... > FILE",
	.read = nccl_text_read,
};
