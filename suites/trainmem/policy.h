/* Allocation and release of memory by each policy; used by heap.c alone. */
#ifndef GPUPROOF_TRAINMEM_POLICY_H
#define GPUPROOF_TRAINMEM_POLICY_H

#include "suites/trainmem/heap.h"

/* `reserve`: as of heap_open(). */
enum status policy_open(struct heap *heap, uint64_t reserve, struct error *err);
enum status policy_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void **out,
			struct error *err);
void policy_give(struct heap *heap, void *memory);
void policy_trim(struct heap *heap);
void policy_close(struct heap *heap);

#endif
