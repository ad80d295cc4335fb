/*
 * Shared by the readers of the two forms of nccl-tests' output. They collect everything that a file
 * says; nccl_build() looks for contradictions in it and then makes cases.
 */
#ifndef GPUPROOF_IMPORT_NCCL_BUILD_H
#define GPUPROOF_IMPORT_NCCL_BUILD_H

#include "import/reading.h"

struct nccl_collective {
	const char *theirs, *ours; /* "sendrecv", "send_recv"; ours NULL: not in gpuproof */
	double factor;             /* busbw / algbw = factor * (n - 1) / n; 0: busbw = algbw */
	bool operation, root;      /* its rows have an operation, not "none"; a root, not -1 */
	const char *columns;       /* of its heading before 2.11; NULL: it is newer */
};
#define NCCL_COLLECTIVES 11
extern const struct nccl_collective nccl_collectives[NCCL_COLLECTIVES];
/* The collective of "./build/all_reduce_perf_mpi", or by a user's spelling; NULL: unknown. */
const struct nccl_collective *nccl_build_collective(const char *program);

struct nccl_rank {
	int rank, group, device;
	const char *host, *pci, *name; /* owned once they are added */
	size_t line;                   /* of the file; 0: JSON */
};

/* One test: the ranks that ran, and how it ended. */
struct nccl_test {
	const struct nccl_collective *collective; /* NULL: unknown */
	const struct nccl_collective *mentioned;  /* by a command line before it; NULL */
	size_t line, rows, failed_rows;
	int threads, gpus; /* of a process; 0: unknown */
	struct nccl_rank *ranks;
	size_t rank_count, rank_capacity;
	bool headed, concluded;
	const char *columns; /* of the heading: "redop root" since 2.11 */
	char *broken;        /* the tool's message if the test has no result; NULL */
	char *failed;        /* the tool's verdict on wrong values or bandwidth; NULL */
	/* Set when cases are made: */
	size_t *devices; /* indices of those of rank 0's group */
	size_t count;    /* of them */
	size_t groups;   /* that ran at the same time */
};

/* One figure: a row has two, out of place and in place. */
struct nccl_row {
	size_t test, line;
	const json_t *json; /* NULL: text */
	char type[12], operation[12];
	int root;
	bool in_place;
	bool counted; /* `wrong` is a number of elements, else the largest error */
	double bytes, time_us, algbw_gbs, busbw_gbs;
	double time_half, algbw_half, busbw_half; /* half a unit of their last digit */
	double wrong;                             /* NaN: not checked */
};

/* The state of both formats, or its first member. */
struct nccl_file {
	struct nccl_test *tests;
	size_t test_count, test_capacity;
	struct nccl_row *rows;
	size_t row_count, row_capacity;
	const char *backend; /* NULL: that of the GPU's name */
};

/* The test that lines belong to from now on. */
struct nccl_test *nccl_build_begin_test(struct nccl_file *file, size_t line);
void nccl_build_add_rank(struct nccl_test *test, struct nccl_rank rank);
void nccl_build_add_row(struct nccl_file *file, const struct nccl_row *row);
/* Keeps a copy of the first message. */
void nccl_build_set_words(char **words, const char *said);
/* Adds NCCL's version as a fact: "2.28.9" for the number 22809. */
void nccl_build_version_fact(struct import *import, double number);
/*
 * Makes cases of the rows. A row that contradicts itself or the list of ranks is an error.
 * Repetitions become samples; types, roots and operations that differ within the file become
 * parameters.
 */
void nccl_build(struct import *import);
void nccl_build_release(void *file);

#endif
