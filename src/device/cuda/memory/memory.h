/* Memory functions used by other files of the backend. */
#ifndef GPUPROOF_DEVICE_CUDA_MEMORY_MEMORY_H
#define GPUPROOF_DEVICE_CUDA_MEMORY_MEMORY_H

#include "device/cuda/cuda_backend.h"

/* vmm.c */
enum status cuda_vmm_alloc(struct device *device, size_t bytes, void **out, struct error *err);
enum status cuda_vmm_free(struct device *device, void *memory, size_t bytes, struct error *err);
/* memory.c */
struct managed *cuda_memory_managed_open(void);
enum status cuda_memory_pool_keep(struct device *device, bool keep, struct error *err);
void cuda_memory_pools_destroy(struct device *device);

#endif
