/* Shared by the readers of the two forms of nccl-tests' output. */
#ifndef GPUPROOF_IMPORT_NCCL_H
#define GPUPROOF_IMPORT_NCCL_H

#include "import/reading.h"

/* gpuproof's name of the collective that "./build/all_reduce_perf" measures; NULL: none. */
const char *nccl_collective(const char *program);

struct nccl_row {
	const char *collective, *type, *reduction;
	bool in_place;
	size_t ranks;
	double bytes, time_us, algbw_gbs, busbw_gbs;
	double wrong; /* elements; NaN: not checked */
};

/*
 * False: the row is there already, and is added no more.
 * A bandwidth of 0 is one that was rounded to nothing, or that of one device: it is left out.
 */
bool nccl_add(struct import *import, const struct nccl_row *row);

#endif
