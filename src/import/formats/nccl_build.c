/*
 * Collects the tests in a file of nccl-tests, and builds cases from them. A log has redundant data:
 * the number of ranks is in the list of devices, in the devices per process and in busbw / algbw,
 * and a bandwidth is a size over a time. Contradictions are errors.
 */
#include "import/formats/nccl_build.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* Tolerated relative error of a size, from rounded counts and hand-made logs. */
#define SIZE_TOLERANCE 0.02
#define MOST_RANKS 65536

const struct nccl_collective nccl_collectives[NCCL_COLLECTIVES] = {
	{ "all_reduce", "all_reduce", 2, true, false, "redop" },
	{ "all_gather", "all_gather", 1, false, false, "" },
	{ "reduce_scatter", "reduce_scatter", 1, true, false, "redop" },
	{ "broadcast", "broadcast", 0, false, true, "root" },
	{ "reduce", "reduce", 0, true, true, "redop root" },
	{ "sendrecv", "send_recv", 0, true, false, "redop" },
	{ "alltoall", "all_to_all", 1, false, false, "redop" },
	{ "gather", NULL, 1, false, true, "root" },
	{ "scatter", NULL, 1, false, true, "root" },
	{ "hypercube", NULL, 0, false, false, "" },
	{ "alltoallv", NULL, 1, false, false, NULL },
};

/* "AllReduce", "all-reduce" and "all_reduce" are the same name. */
static bool nccl_build_tests_same_name(const char *a, size_t length, const char *b)
{
	for (const char *end = a + length;; a++, b++) {
		while (a < end && (*a == '_' || *a == '-'))
			a++;
		while (*b == '_')
			b++;
		if (a == end || !*b)
			return a == end && !*b;
		if (tolower((unsigned char)*a) != *b)
			return false;
	}
}

const struct nccl_collective *nccl_build_collective(const char *program)
{
	const char *base = strrchr(program, '/'), *suffix;
	size_t length;

	base = base ? base + 1 : program;
	suffix = strstr(base, "_perf");
	length = suffix ? (size_t)(suffix - base) : strcspn(base, " \t");
	for (size_t i = 0; i < NCCL_COLLECTIVES; i++) {
		const struct nccl_collective *c = &nccl_collectives[i];

		if (nccl_build_tests_same_name(base, length, c->theirs) ||
		    (c->ours && nccl_build_tests_same_name(base, length, c->ours)))
			return c;
	}
	return NULL;
}

struct nccl_test *nccl_build_begin_test(struct nccl_file *file, size_t line)
{
	ARRAY_GROW(file->tests, file->test_count, file->test_capacity);
	file->tests[file->test_count] = (struct nccl_test){ .line = line };
	return &file->tests[file->test_count++];
}

void nccl_build_add_rank(struct nccl_test *test, struct nccl_rank rank)
{
	ARRAY_GROW(test->ranks, test->rank_count, test->rank_capacity);
	rank.host = xstrdup(rank.host);
	rank.pci = xstrdup(rank.pci);
	rank.name = xstrdup(rank.name);
	test->ranks[test->rank_count++] = rank;
}

void nccl_build_add_row(struct nccl_file *file, const struct nccl_row *row)
{
	ARRAY_GROW(file->rows, file->row_count, file->row_capacity);
	file->rows[file->row_count++] = *row;
}

void nccl_build_set_words(char **words, const char *said)
{
	if (!*words)
		*words = text_trimmed(said, strlen(said));
}

void nccl_build_version_fact(struct import *import, double number)
{
	char text[32];
	int v = number > 0 && number < 1e6 ? (int)number : 0;

	if (v >= 10000) /* since 2.9 */
		snprintf(text, sizeof(text), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	else
		snprintf(text, sizeof(text), "%d.%d.%d", v / 1000, v / 100 % 10, v % 100);
	if (v)
		building_fact(import, "nccl", text);
}

void nccl_build_release(void *state)
{
	struct nccl_file *file = state;

	for (size_t i = 0; i < file->test_count; i++) {
		struct nccl_test *t = &file->tests[i];

		for (size_t r = 0; r < t->rank_count; r++) {
			free((char *)(uintptr_t)t->ranks[r].host);
			free((char *)(uintptr_t)t->ranks[r].pci);
			free((char *)(uintptr_t)t->ranks[r].name);
		}
		free(t->ranks);
		free(t->broken);
		free(t->failed);
		free(t->devices);
	}
	free(file->tests);
	free(file->rows);
}

/* True if busbw matches `ranks` ranks within rounding. */
static bool nccl_build_fits_ranks(const struct nccl_row *row, const struct nccl_collective *c,
				  size_t ranks)
{
	double factor = c->factor > 0 ? c->factor * (double)(ranks - 1) / (double)ranks : 1;
	double slack = 2 * (row->busbw_half + factor * row->algbw_half) + 1e-6 * row->busbw_gbs;

	return fabs(row->busbw_gbs - factor * row->algbw_gbs) <= slack;
}

/* Number of ranks from busbw / algbw of the row; 0 if it has too few digits. */
static size_t nccl_build_ranks_by_ratio(const struct nccl_row *row, const struct nccl_collective *c)
{
	double share = row->algbw_gbs > 0 && c->factor > 0
			       ? row->busbw_gbs / row->algbw_gbs / c->factor
			       : NAN;
	double ranks = share < 1 ? round(1 / (1 - share)) : NAN;

	if (!(ranks >= 1 && ranks <= MOST_RANKS) || !nccl_build_fits_ranks(row, c, (size_t)ranks) ||
	    nccl_build_fits_ranks(row, c, (size_t)ranks + 1) ||
	    (ranks > 1 && nccl_build_fits_ranks(row, c, (size_t)ranks - 1)))
		return 0;
	return (size_t)ranks;
}

static int nccl_build_by_rank(const void *a, const void *b)
{
	const struct nccl_rank *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/*
 * Adds ranks that the list lacks. nccl-tests cuts long lists, its JSON names only the first device
 * of each process, and logs lose lines. The devices per process or the ratio of bandwidths prove
 * that the ranks ran. Returns their number.
 */
static size_t nccl_build_count_ranks(struct import *import, struct nccl_test *t)
{
	const struct nccl_file *file = import->state;
	size_t stride =
		(size_t)(t->threads > 0 ? t->threads : 1) * (size_t)(t->gpus > 0 ? t->gpus : 1);
	size_t total = ((size_t)t->ranks[t->rank_count - 1].rank / stride + 1) * stride;
	size_t by_ratio = 0;

	if (!t->collective && total != t->rank_count)
		t->collective = t->mentioned;
	if (total > MOST_RANKS)
		building_error(import,
			       "the test has more than %d ranks, the maximum that import reads",
			       MOST_RANKS);
	if (total == t->rank_count || total > MOST_RANKS || !t->ranks[0].line)
		return total;
	for (size_t i = 0; t->collective && i < file->row_count && !by_ratio; i++)
		if (&file->tests[file->rows[i].test] == t)
			by_ratio = nccl_build_ranks_by_ratio(&file->rows[i], t->collective);
	if (by_ratio != total)
		building_error_at(import, t->ranks[0].line,
				  "the list of devices contains %zu of at least %zu ranks; %s",
				  t->rank_count, total,
				  t->collective
					  ? "lines of the list are missing"
					  : "name the collective with --collective, so that import "
					    "can compute the number of ranks from the bandwidths");
	return total;
}

/* The last listed rank up to `rank`, taken as the first rank of its process; NULL: none. */
static const struct nccl_rank *nccl_build_listed_before(const struct nccl_test *t, int rank)
{
	size_t low = 0, high = t->rank_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->ranks[middle].rank <= rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->ranks[low - 1] : NULL;
}

/* The device of a rank; `r` is the last listed rank up to it. */
static size_t nccl_build_device_of_rank(struct import *import, const struct nccl_test *t,
					const struct nccl_rank *r, int rank)
{
	const struct nccl_file *file = import->state;
	int stride = (t->threads > 0 ? t->threads : 1) * (t->gpus > 0 ? t->gpus : 1);
	bool listed = r && r->rank == rank;
	bool shared = r && !r->line && r->rank / stride == rank / stride;
	struct import_device d = { .number = rank, .name = "", .host = "", .pci = "" };

	if (listed || shared) {
		d.number = r->device + rank - r->rank;
		d.name = r->name;
		d.host = r->host;
		d.pci = listed ? r->pci : "";
	}
	d.backend = file->backend;
	return building_device(import, &d);
}

/* Devices of rank 0's group, because the log shows the figures of rank 0. */
static void nccl_build_find_devices(struct import *import, struct nccl_test *t)
{
	size_t total, listed = 0;

	if (!t->rank_count)
		return;
	qsort(t->ranks, t->rank_count, sizeof(*t->ranks), nccl_build_by_rank);
	/* Two processes that both have rank 0 did not communicate. */
	for (size_t i = 1; i < t->rank_count; i++) {
		const struct nccl_rank *one = &t->ranks[i - 1], *other = &t->ranks[i];

		if (one->rank == other->rank)
			building_error_at(import, other->line ? other->line : 1,
					  "rank %d appears twice (%s, %s), so the processes ran "
					  "independently; build nccl-tests with MPI=1",
					  one->rank, one->host, other->host);
	}
	total = building_stopped(import) ? 0 : nccl_build_count_ranks(import, t);
	if (building_stopped(import))
		return;
	for (size_t i = 0; i < t->rank_count; i++)
		listed += t->ranks[i].group == t->ranks[0].group;
	t->devices = xcalloc(total, sizeof(*t->devices));
	for (size_t i = 0; i < total; i++) {
		const struct nccl_rank *r = nccl_build_listed_before(t, (int)i);
		size_t device = nccl_build_device_of_rank(import, t, r, (int)i);

		if (listed == t->rank_count || (r && r->group == t->ranks[0].group))
			t->devices[t->count++] = device;
	}
	t->groups = listed == t->rank_count ? 1 : (total + t->count - 1) / t->count;
}

/* True if the row's operation, root and bandwidths fit the collective. */
static bool nccl_build_row_can_be(const struct nccl_test *t, const struct nccl_row *row,
				  const struct nccl_collective *c)
{
	bool operation = *row->operation && strcmp(row->operation, "none") != 0;

	if (strcmp(t->columns, "redop root") != 0 &&
	    (!c->columns || strcmp(t->columns, c->columns) != 0))
		return false;
	return operation == c->operation && (row->root >= 0) == c->root &&
	       nccl_build_fits_ranks(row, c, t->count);
}

/*
 * Finds the collective of a test that does not name it (before 2.13.9): the only one that fits all
 * its rows, or else the one in the command line before it.
 */
static void nccl_build_infer_collective(struct import *import, struct nccl_test *t)
{
	const struct nccl_file *file = import->state;
	const struct nccl_collective *only = NULL;
	const struct nccl_row *first = NULL;
	size_t possible = 0;
	char *fact;

	for (size_t k = 0; !t->collective && k < NCCL_COLLECTIVES; k++) {
		bool fits = true;

		for (size_t i = 0; fits && i < file->row_count; i++) {
			const struct nccl_row *row = &file->rows[i];

			if (&file->tests[row->test] != t)
				continue;
			first = first ? first : row;
			fits = nccl_build_row_can_be(t, row, &nccl_collectives[k]);
		}
		possible += fits;
		only = fits ? &nccl_collectives[k] : only;
	}
	if (t->collective || !first)
		return;
	t->collective = possible == 1 ? only : t->mentioned;
	if (!t->collective) {
		building_error_at(import, first->line,
				  "unknown collective; name it with --collective");
		return;
	}
	fact = xasprintf("%s (detected from %s)", t->collective->theirs,
			 possible == 1 ? "columns and bandwidths" : "command line");
	building_fact(import, "collective", fact);
	free(fact);
}

static void nccl_build_check_row(struct import *import, const struct nccl_test *t,
				 const struct nccl_row *row)
{
	double moved = row->algbw_gbs * row->time_us * 1e3;
	double slack = SIZE_TOLERANCE * row->bytes + 3 * row->algbw_half * row->time_us * 1e3 +
		       3 * row->time_half * row->algbw_gbs * 1e3;
	char message[320], other[80] = "";
	size_t by_ratio;

	if (fabs(moved - row->bytes) > slack) {
		snprintf(message, sizeof(message),
			 "%.15g bytes in %g us do not give %g GB/s; the heading may belong to "
			 "other columns",
			 row->bytes, row->time_us, row->algbw_gbs);
	} else if (nccl_build_fits_ranks(row, t->collective, t->count)) {
		return;
	} else {
		by_ratio = nccl_build_ranks_by_ratio(row, t->collective);
		if (by_ratio)
			snprintf(other, sizeof(other),
				 ", but it does for %zu; lines of devices may be missing",
				 by_ratio);
		snprintf(message, sizeof(message),
			 "busbw %g GB/s does not match algbw %g GB/s for %s on %zu rank%s%s",
			 row->busbw_gbs, row->algbw_gbs, t->collective->theirs, t->count,
			 text_plural(t->count), other);
	}
	if (row->json)
		import_json_error(import, row->json, NULL, "%s", message);
	else
		building_error_at(import, row->line, "%s", message);
}

static const char *nccl_build_type_name(const char *theirs)
{
	static const char *const types[][2] = {
		{ "float", "fp32" },    { "half", "fp16" },       { "double", "fp64" },
		{ "bfloat16", "bf16" }, { "f8e4m3", "fp8_e4m3" }, { "f8e5m2", "fp8_e5m2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i][0], theirs) == 0)
			return types[i][1];
	return theirs;
}

/* Columns that differ between the rows of a collective become parameters. */
struct variety {
	const char *type; /* of the first row; NULL: no row yet */
	int root;
	bool types, roots, operations;
};

static struct case_result *nccl_build_row_case(struct import *import, const struct nccl_test *t,
					       const struct nccl_row *row, const struct variety *v)
{
	const char *ours = t->collective->ours;
	bool reduces = strstr(ours, "reduce");
	struct case_result *c;
	bool placed = strcmp(ours, "broadcast") != 0 && strcmp(ours, "send_recv") != 0 &&
		      strcmp(ours, "all_to_all") != 0;

	/* As in suites/collective.c, leaves out parameters that do not apply to the operation. */
	c = building_case(
		import, "collective", t->devices, t->count,
		PARAMETERS(NUMBER("devices", (double)t->count), WORD("operation", ours),
			   WORD(reduces ? "precision" : "type",
				reduces || v->types ? nccl_build_type_name(row->type) : NULL),
			   WORD("reduction", v->operations && reduces ? row->operation : NULL),
			   NUMBER("root", v->roots ? row->root : (double)NAN),
			   WORD("placement", !placed && !row->in_place ? NULL
					     : row->in_place           ? "in_place"
								       : "out_of_place"),
			   BYTES("size", row->bytes)));
	if (t->groups > 1 && !*c->notes)
		case_result_note(c, "Several groups of ranks ran at the same time; these values "
				    "are from the group of rank 0.");
	return c;
}

static void nccl_build_row(struct import *import, struct nccl_test *t, const struct nccl_row *row,
			   const struct variety *v)
{
	/* nccl-tests before 2.11 print the largest error and count errors above these bounds. */
	double bound = (strcmp(row->type, "half") == 0     ? 1e-2
			: strcmp(row->type, "float") == 0  ? 1e-5
			: strcmp(row->type, "double") == 0 ? 1e-12
							   : 0) *
		       (double)(t->count > 1 ? t->count - 1 : 1);
	struct case_result *c;

	nccl_build_check_row(import, t, row);
	import->line = row->line;
	c = nccl_build_row_case(import, t, row, v);
	if (row->busbw_gbs == 0 || row->algbw_gbs == 0)
		building_left_out(import, "bandwidths of 0");
	building_metric(c, "collective.busbw", "B/s",
			row->busbw_gbs > 0 ? row->busbw_gbs * 1e9 : (double)NAN);
	building_metric(c, "collective.algbw", "B/s",
			row->algbw_gbs > 0 ? row->algbw_gbs * 1e9 : (double)NAN);
	building_metric(c, "collective.time", "s", row->time_us * 1e-6);
	if (row->counted && row->wrong > 0)
		import_failed(c, "%.0f wrong elements", row->wrong);
	else if (!row->counted && row->wrong > bound)
		import_failed(c, "wrong elements; the largest error is %g", row->wrong);
	else
		return;
	t->failed_rows++;
}

/* Rows become cases. Collectives without a suite in gpuproof are listed as left out. */
static void nccl_build_rows(struct import *import)
{
	struct nccl_file *file = import->state;
	struct variety varieties[NCCL_COLLECTIVES] = { 0 };

	for (size_t i = 0; i < file->row_count; i++) {
		const struct nccl_row *row = &file->rows[i];
		struct variety *v =
			&varieties[file->tests[row->test].collective - nccl_collectives];

		if (!v->type) {
			v->type = row->type;
			v->root = row->root;
		}
		v->types |= strcmp(v->type, row->type) != 0;
		v->roots |= v->root != row->root || row->root > 0;
		v->operations |= *row->operation && strcmp(row->operation, "sum") != 0 &&
				 strcmp(row->operation, "none") != 0;
	}
	for (size_t i = 0; i < file->row_count && !building_stopped(import); i++) {
		const struct nccl_row *row = &file->rows[i];
		struct nccl_test *t = &file->tests[row->test];

		if (t->collective->ours)
			nccl_build_row(import, t, row,
				       &varieties[t->collective - nccl_collectives]);
		else
			building_left_out(import, "%s (gpuproof has no such collective)",
					  t->collective->theirs);
	}
}

/* A test that died, or that the tool reports as wrong, becomes a case of its own. */
static void nccl_build_add_verdict(struct import *import, const struct nccl_test *t)
{
	const struct import_device none = { .backend = "cuda" };
	size_t device = 0;
	struct case_result *c;

	import->line = t->line;
	if (!t->count && !import->result->device_count)
		building_device(import, &none);
	if (!t->broken && (!t->failed || t->failed_rows)) {
		if (!t->concluded && (t->headed || t->rank_count))
			building_incomplete(import,
					    "the test that begins in line %zu has no summary",
					    t->line);
		return;
	}
	c = building_case(import, "collective", t->count ? t->devices : &device,
			  t->count ? t->count : 1,
			  PARAMETERS(NUMBER("devices", (double)t->count),
				     WORD("operation", !t->collective ? "unknown"
						       : t->collective->ours
							       ? t->collective->ours
							       : t->collective->theirs)));
	if (t->broken)
		import_broken(c, "nccl-tests reports: %s", t->broken);
	else
		import_failed(c, "nccl-tests reports: %s", t->failed);
}

void nccl_build(struct import *import)
{
	struct nccl_file *file = import->state;

	/* Rejects a file without figures, with the tool's own message. */
	for (size_t i = 0; !file->row_count && i < file->test_count; i++) {
		const struct nccl_test *t = &file->tests[i];

		if (t->broken)
			building_error_at(import, t->line,
					  "the test has no values, because it ended with "
					  "\"%.300s\"",
					  t->broken);
		else if (!t->concluded && !t->rows)
			building_error_at(import, t->line,
					  "the test has no values, because it ended before its "
					  "first row");
	}
	for (size_t i = 0; !building_stopped(import) && i < file->test_count; i++)
		nccl_build_find_devices(import, &file->tests[i]);
	for (size_t i = 0; !building_stopped(import) && i < file->test_count; i++)
		nccl_build_infer_collective(import, &file->tests[i]);
	if (!building_stopped(import))
		nccl_build_rows(import);
	for (size_t i = 0; !building_stopped(import) && i < file->test_count; i++)
		nccl_build_add_verdict(import, &file->tests[i]);
}
