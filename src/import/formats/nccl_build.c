/*
 * Builds cases from nccl-tests. A log has redundant data: the number of ranks is in the list of
 * devices, in the devices per process and in busbw / algbw, and a bandwidth is a size over a time.
 * Contradictions are errors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/formats/nccl.h"

/* Tolerated relative error of a size, from rounded counts and hand-made logs. */
#define SIZE_TOLERANCE 0.02
#define MOST_RANKS 65536

/* Columns that differ between the rows of a collective become parameters. */
struct variety {
	const char *type;
	int root;
	bool types, roots, operations;
};

struct building {
	struct import *import;
	struct nccl_file *file;
	struct variety varieties[NCCL_COLLECTIVES];
	size_t **devices; /* devices of each test's ranks */
	size_t *counts;   /* ranks per group of each test */
	size_t *groups;   /* concurrent groups */
};

#define ROW_PATH(row) NTH(AT(NULL, "results"), (row)->index)

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

/* Two processes that both have rank 0 did not communicate. */
static enum status nccl_build_check_repeated(struct building *b, struct nccl_test *t)
{
	for (size_t i = 1; i < t->rank_count; i++) {
		const struct nccl_rank *one = &t->ranks[i - 1], *other = &t->ranks[i];

		if (one->rank == other->rank)
			return import_error(b->import, other->line ? other->line : 1,
					    "rank %d is there twice (%s, %s): the processes did "
					    "not know of each other; nccl-tests built without "
					    "MPI?",
					    one->rank, one->host, other->host);
	}
	return STATUS_OK;
}

/*
 * Adds ranks that the list lacks. nccl-tests cuts long lists, its JSON names only the first device
 * of each process, and logs lose lines. The devices per process or the ratio of bandwidths prove
 * that the ranks ran.
 */
static enum status nccl_build_count_ranks(struct building *b, size_t test, size_t *total)
{
	struct nccl_test *t = &b->file->tests[test];
	size_t stride =
		(size_t)(t->threads > 0 ? t->threads : 1) * (size_t)(t->gpus > 0 ? t->gpus : 1);
	size_t highest = (size_t)t->ranks[t->rank_count - 1].rank;
	size_t by_ratio = 0;

	*total = (highest / stride + 1) * stride;
	if (!t->collective && *total != t->rank_count)
		t->collective = t->mentioned;
	if (*total == t->rank_count || *total > MOST_RANKS)
		return *total > MOST_RANKS
			       ? import_error(b->import, 1, "more than %d ranks", MOST_RANKS)
			       : STATUS_OK;
	for (size_t i = 0; t->collective && i < b->file->row_count && !by_ratio; i++)
		if (b->file->rows[i].test == test)
			by_ratio = nccl_build_ranks_by_ratio(&b->file->rows[i], t->collective);
	if (by_ratio == *total || !t->ranks[0].line)
		return STATUS_OK;
	if (!t->collective)
		return import_error(b->import, t->ranks[0].line,
				    "the list of devices has %zu ranks of at least %zu: name the "
				    "collective with --collective, so that the bandwidths tell how "
				    "many ran",
				    t->rank_count, *total);
	return import_error(b->import, t->ranks[0].line,
			    "the list of devices has %zu ranks of at least %zu: lines of it are "
			    "lost",
			    t->rank_count, *total);
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

static size_t nccl_build_device_of_rank(struct building *b, const struct nccl_test *t, int rank)
{
	const struct nccl_rank *r = nccl_build_listed_before(t, rank);
	int stride = (t->threads > 0 ? t->threads : 1) * (t->gpus > 0 ? t->gpus : 1);
	bool listed = r && r->rank == rank;
	bool shared = r && !r->line && r->rank / stride == rank / stride;
	const char *name = listed || shared ? r->name : "";
	struct import_device d = { .backend = b->file->backend ? b->file->backend
							       : import_backend(name),
				   .number = shared || listed ? r->device + rank - r->rank : rank,
				   .name = name,
				   .host = listed || shared ? r->host : "",
				   .pci = listed ? r->pci : "" };

	return import_device(b->import, &d);
}

/* Devices of rank 0's group, because the log shows the figures of rank 0. */
static enum status nccl_find_devices(struct building *b, size_t test)
{
	struct nccl_test *t = &b->file->tests[test];
	size_t total, count = 0, listed = 0;
	enum status status;

	if (!t->rank_count)
		return STATUS_OK;
	qsort(t->ranks, t->rank_count, sizeof(*t->ranks), nccl_build_by_rank);
	status = nccl_build_check_repeated(b, t);
	if (status == STATUS_OK)
		status = nccl_build_count_ranks(b, test, &total);
	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < t->rank_count; i++)
		listed += t->ranks[i].group == t->ranks[0].group;
	b->devices[test] = xcalloc(total, sizeof(**b->devices));
	for (size_t i = 0; i < total; i++) {
		const struct nccl_rank *r = nccl_build_listed_before(t, (int)i);
		size_t device = nccl_build_device_of_rank(b, t, (int)i);

		if (listed == t->rank_count || (r && r->group == t->ranks[0].group))
			b->devices[test][count++] = device;
	}
	b->counts[test] = count;
	b->groups[test] = listed == t->rank_count ? 1 : (total + count - 1) / count;
	return STATUS_OK;
}

/* True if the row's operation, root and bandwidths fit the collective. */
static bool nccl_build_row_can_be(const struct nccl_test *t, const struct nccl_row *row,
				  const struct nccl_collective *c, size_t ranks)
{
	bool operation = *row->operation && strcmp(row->operation, "none") != 0;

	if (strcmp(t->columns, "redop root") != 0 &&
	    (!c->columns || strcmp(t->columns, c->columns) != 0))
		return false;
	return operation == c->operation && (row->root >= 0) == c->root &&
	       nccl_build_fits_ranks(row, c, ranks);
}

/*
 * Finds the collective of a test that does not name it (before 2.13.9): the only one that fits all
 * its rows, or else the one in the command line before it.
 */
static enum status nccl_infer_collective(struct building *b, size_t test)
{
	struct nccl_test *t = &b->file->tests[test];
	const struct nccl_collective *only = NULL;
	const struct nccl_row *first = NULL;
	size_t possible = 0;
	char *fact;

	for (size_t k = 0; !t->collective && k < NCCL_COLLECTIVES; k++) {
		bool fits = true;

		for (size_t i = 0; fits && i < b->file->row_count; i++) {
			const struct nccl_row *row = &b->file->rows[i];

			if (row->test != test)
				continue;
			first = first ? first : row;
			fits = nccl_build_row_can_be(t, row, &nccl_collectives[k], b->counts[test]);
		}
		possible += fits;
		only = fits ? &nccl_collectives[k] : only;
	}
	if (t->collective || !first)
		return STATUS_OK;
	t->collective = possible == 1 ? only : t->mentioned;
	if (!t->collective)
		return import_error(b->import, first->line,
				    "unknown collective: name it with --collective");
	fact = xasprintf("%s (by its %s)", t->collective->theirs,
			 possible == 1 ? "columns and bandwidths" : "command line");
	import_fact(b->import, "collective", fact);
	free(fact);
	return STATUS_OK;
}

/* Lists collectives without a suite in gpuproof as left out, and drops their rows. */
static void nccl_drop_unknown_collectives(struct building *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->file->row_count; i++) {
		const struct nccl_row *row = &b->file->rows[i];
		const struct nccl_collective *c = b->file->tests[row->test].collective;

		if (c->ours)
			b->file->rows[kept++] = *row;
		else
			import_left_out(b->import, "%s (gpuproof has no such collective)",
					c->theirs);
	}
	b->file->row_count = kept;
}

static enum status nccl_build_check_row(struct building *b, const struct nccl_row *row)
{
	const struct nccl_test *t = &b->file->tests[row->test];
	size_t ranks = b->counts[row->test], by_ratio;
	double moved = row->algbw_gbs * row->time_us * 1e3;
	double slack = SIZE_TOLERANCE * row->bytes + 3 * row->algbw_half * row->time_us * 1e3 +
		       3 * row->time_half * row->algbw_gbs * 1e3;
	char other[80] = "";

	if (fabs(moved - row->bytes) > slack)
		return import_error_at(b->import, row->line, ROW_PATH(row),
				       "%.15g bytes in %g us are not %g GB/s: columns of another "
				       "heading?",
				       row->bytes, row->time_us, row->algbw_gbs);
	if (nccl_build_fits_ranks(row, t->collective, ranks))
		return STATUS_OK;
	by_ratio = nccl_build_ranks_by_ratio(row, t->collective);
	if (by_ratio)
		snprintf(other, sizeof(other), " but on %zu: lines of the list of devices are lost",
			 by_ratio);
	return import_error_at(b->import, row->line, ROW_PATH(row),
			       "busbw %g GB/s of algbw %g GB/s are not those of %s on %zu rank%s%s",
			       row->busbw_gbs, row->algbw_gbs, t->collective->theirs, ranks,
			       ranks == 1 ? "" : "s", other);
}

static bool has_placement(const struct nccl_collective *c)
{
	return strcmp(c->ours, "broadcast") != 0 && strcmp(c->ours, "send_recv") != 0 &&
	       strcmp(c->ours, "all_to_all") != 0;
}

/* As in suites/collective.c, leaves out parameters that do not apply to the operation. */
static bool nccl_collective_reduces(const struct nccl_collective *c)
{
	return strstr(c->ours, "reduce") != NULL;
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

static struct variety *variety_of(struct building *b, const struct nccl_row *row)
{
	return &b->varieties[b->file->tests[row->test].collective - nccl_collectives];
}

static double nccl_build_above_zero(double value)
{
	return value > 0 ? value : (double)NAN;
}

/* nccl-tests before 2.11 print the largest error and count errors above these bounds. */
static double nccl_build_largest_error(const char *type, size_t ranks)
{
	double one = strcmp(type, "half") == 0     ? 1e-2
		     : strcmp(type, "float") == 0  ? 1e-5
		     : strcmp(type, "double") == 0 ? 1e-12
						   : 0;

	return one * (double)(ranks > 1 ? ranks - 1 : 1);
}

static void nccl_build_judge_row(struct building *b, struct case_result *c,
				 const struct nccl_row *row)
{
	struct nccl_test *t = &b->file->tests[row->test];

	if (row->counted && row->wrong > 0)
		import_failed(c, "%.0f wrong elements", row->wrong);
	else if (!row->counted &&
		 row->wrong > nccl_build_largest_error(row->type, b->counts[row->test]))
		import_failed(c, "wrong elements: the largest error is %g", row->wrong);
	else
		return;
	t->failed_rows++;
}

static enum status nccl_add_row(struct building *b, const struct nccl_row *row)
{
	const struct variety *v = variety_of(b, row);
	const struct nccl_test *t = &b->file->tests[row->test];
	size_t ranks = b->counts[row->test];
	struct case_result *c =
		import_case(b->import, row->line, "collective", b->devices[row->test], ranks, NULL);

	if (!c)
		return STATUS_USAGE;
	import_number(c, "devices", (double)ranks);
	import_word(c, "operation", t->collective->ours);
	if (nccl_collective_reduces(t->collective))
		import_word(c, "precision", nccl_build_type_name(row->type));
	else if (v->types)
		import_word(c, "type", nccl_build_type_name(row->type));
	if (v->operations && nccl_collective_reduces(t->collective))
		import_word(c, "reduction", row->operation);
	if (v->roots)
		import_number(c, "root", row->root);
	if (has_placement(t->collective))
		import_word(c, "placement", row->in_place ? "in_place" : "out_of_place");
	else if (row->in_place)
		import_word(c, "placement", "in_place");
	import_bytes(c, "size", row->bytes);
	if (b->groups[row->test] > 1)
		case_result_note(c, "Several groups of ranks ran at the same time; this is the "
				    "group of rank 0.");
	c = import_named(b->import, c);
	if (row->busbw_gbs == 0 || row->algbw_gbs == 0)
		import_left_out(b->import, "bandwidths of 0");
	import_metric(c, "collective.busbw", "B/s", BETTER_HIGHER,
		      nccl_build_above_zero(row->busbw_gbs * 1e9));
	import_metric(c, "collective.algbw", "B/s", BETTER_HIGHER,
		      nccl_build_above_zero(row->algbw_gbs * 1e9));
	import_metric(c, "collective.time", "s", BETTER_LOWER, row->time_us * 1e-6);
	nccl_build_judge_row(b, c, row);
	return STATUS_OK;
}

static enum status nccl_add_rows(struct building *b)
{
	for (size_t i = 0; i < b->file->row_count; i++) {
		const struct nccl_row *row = &b->file->rows[i];
		enum status status = nccl_build_check_row(b, row);

		if (status == STATUS_OK)
			status = nccl_add_row(b, row);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

/* A test that died, or that the tool reports as wrong, becomes a case of its own. */
static enum status nccl_add_verdict(struct building *b, size_t test)
{
	struct nccl_test *t = &b->file->tests[test];
	const struct import_device none = { .backend = "cuda" };
	size_t device = b->counts[test] || b->import->result->device_count
				? 0
				: import_device(b->import, &none);
	struct case_result *c;

	if (!t->broken && (!t->failed || t->failed_rows)) {
		if (!t->concluded && (t->headed || t->rank_count))
			import_incomplete(b->import, "the test of line %zu has no summary",
					  t->line);
		return STATUS_OK;
	}
	c = import_case(b->import, t->line, "collective",
			b->counts[test] ? b->devices[test] : &device,
			b->counts[test] ? b->counts[test] : 1, NULL);
	if (!c)
		return STATUS_USAGE;
	import_number(c, "devices", (double)b->counts[test]);
	import_word(c, "operation",
		    !t->collective        ? "unknown"
		    : t->collective->ours ? t->collective->ours
					  : t->collective->theirs);
	c = import_named(b->import, c);
	if (t->broken)
		import_broken(c, "nccl-tests says: %s", t->broken);
	else
		import_failed(c, "nccl-tests says: %s", t->failed);
	return STATUS_OK;
}

/* Rejects a file without figures, with the tool's own message. */
static enum status nccl_build_check_empty(struct building *b)
{
	for (size_t i = 0; !b->file->row_count && i < b->file->test_count; i++) {
		const struct nccl_test *t = &b->file->tests[i];

		if (t->broken)
			return import_error(b->import, t->line,
					    "no figures: the test ended with \"%.300s\"",
					    t->broken);
		if (!t->concluded && !t->rows)
			return import_error(b->import, t->line,
					    "no figures: the test ended before its first "
					    "row");
	}
	return STATUS_OK;
}

enum status nccl_build(struct import *import, struct nccl_file *file)
{
	size_t n = file->test_count + 1;
	struct building b = { .import = import,
			      .file = file,
			      .devices = xcalloc(n, sizeof(*b.devices)),
			      .counts = xcalloc(n, sizeof(*b.counts)),
			      .groups = xcalloc(n, sizeof(*b.groups)) };
	enum status status = nccl_build_check_empty(&b);

	for (size_t i = 0; status == STATUS_OK && i < file->test_count; i++)
		status = nccl_find_devices(&b, i);
	for (size_t i = 0; status == STATUS_OK && i < file->test_count; i++)
		status = nccl_infer_collective(&b, i);
	if (status == STATUS_OK) {
		nccl_drop_unknown_collectives(&b);
		for (size_t i = 0; i < b.file->row_count; i++) {
			const struct nccl_row *row = &b.file->rows[i];
			struct variety *v = variety_of(&b, row);

			if (!v->type) {
				v->type = row->type;
				v->root = row->root;
			}
			v->types |= strcmp(v->type, row->type) != 0;
			v->roots |= v->root != row->root || row->root > 0;
			v->operations |= *row->operation && strcmp(row->operation, "sum") != 0 &&
					 strcmp(row->operation, "none") != 0;
		}
		status = nccl_add_rows(&b);
	}
	for (size_t i = 0; status == STATUS_OK && i < file->test_count; i++)
		status = nccl_add_verdict(&b, i);
	for (size_t i = 0; i < file->test_count; i++)
		free(b.devices[i]);
	free(b.devices);
	free(b.counts);
	free(b.groups);
	return status;
}
