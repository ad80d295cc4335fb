/*
 * Shared by the readers of the two forms of nccl-tests' output: what one file says is collected
 * first, then held against itself, and only then made cases of.
 */
#ifndef GPUPROOF_IMPORT_NCCL_BUILD_H
#define GPUPROOF_IMPORT_NCCL_BUILD_H

#include "import/reading.h"

struct nccl_collective {
	const char *theirs, *ours; /* "sendrecv", "send_recv"; ours NULL: gpuproof has no such */
	double factor;             /* busbw / algbw = factor * (n - 1) / n; 0: it is 1 */
	bool operation, root;      /* its rows name them, and not "none" and -1 */
	const char *columns;       /* of its heading before 2.11; NULL: it is newer */
};
#define NCCL_COLLECTIVES 11
extern const struct nccl_collective nccl_collectives[NCCL_COLLECTIVES];
/* Finds that of "./build/all_reduce_perf_mpi" or a name as users write it; NULL: none. */
const struct nccl_collective *nccl_build_collective(const char *program);

struct nccl_rank {
	int rank, group, device;
	const char *host, *pci, *name; /* owned once they are added */
	size_t line;                   /* of the file; 0: JSON */
};

/* One test: the ranks that ran, and how it ended. */
struct nccl_test {
	const struct nccl_collective *collective; /* NULL: not said */
	const struct nccl_collective *mentioned;  /* by a command line before it; NULL */
	size_t line, rows, failed_rows;
	int threads, gpus; /* of a process; 0: not said */
	struct nccl_rank *ranks;
	size_t rank_count, rank_capacity;
	bool headed, concluded;
	const char *columns; /* of the heading: "redop root" since 2.11 */
	char *broken;        /* the tool's own words for why it has no result; NULL */
	char *failed;        /* its verdict on wrong values or bandwidth; NULL */
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
/* Remembers the first words; copies. */
void nccl_build_set_words(char **words, const char *said);
/* "2.28.9" of NCCL's number 22809 as a fact. */
void nccl_build_version_fact(struct import *import, double number);
/*
 * Refuses a row that contradicts itself or the list of ranks, and makes cases of all others.
 * Repetitions are samples; what differs within the file is a parameter.
 */
void nccl_build(struct import *import);
void nccl_build_release(void *file);

#endif
