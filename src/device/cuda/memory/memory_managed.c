/*
 * Managed memory, limited to the free memory of the device. The driver grants any amount and
 * migrates the excess to the host, which would measure the bus and disturb other processes.
 */
#include "device/cuda/cuda_backend.h"

#include <stdatomic.h>

#include "base/memory.h"
#include "device/cuda/memory/memory.h"

/* Share of free memory; the rest is for the context, which grows. */
#define SHARE_OF_FREE 0.95
#define ASK_AGAIN_BYTES ((uint64_t)256 << 20)

struct managed {
	_Atomic uint64_t bytes; /* allocated now */
	_Atomic uint64_t most;  /* certainly free; 0: unknown */
};

struct managed *cuda_managed_open(void)
{
	return xcalloc(1, sizeof(struct managed));
}

void cuda_managed_changed(struct device *device)
{
	atomic_store(&((struct cuda_device *)device)->managed->most, 0);
}

static enum status check_supported(const struct device *device, struct error *err)
{
	int supported = 0;
	enum status status = cuda_check(cudaDeviceGetAttribute(&supported, cudaDevAttrManagedMemory,
							       device->info.index),
					"cudaDeviceGetAttribute", err);

	if (status == STATUS_OK && !supported)
		return error_set(err, STATUS_UNSUPPORTED, "%s (%s) has no managed memory",
				 device->info.id, device->info.name);
	return status;
}

/*
 * Querying the driver on each call would dominate its time. It is queried when the last answer is
 * used up, which is soon, and after any other allocation of device memory (cuda_memory_alloc()).
 * The driver does not count untouched managed memory as used, so everything allocated by this
 * process is subtracted.
 */
static enum status ask_what_fits(struct cuda_device *cuda, uint64_t used, struct error *err)
{
	uint64_t unused, total, most;
	enum status status = check_supported(&cuda->base, err);

	if (status == STATUS_OK)
		status = cuda_device_memory(&cuda->base, &unused, &total, err);
	if (status != STATUS_OK)
		return status;
	most = (uint64_t)(SHARE_OF_FREE * (double)unused);
	atomic_store(&cuda->managed->most,
		     most < used + ASK_AGAIN_BYTES ? most : used + ASK_AGAIN_BYTES);
	return STATUS_OK;
}

static bool managed_fits(const struct cuda_device *cuda, uint64_t used, uint64_t bytes)
{
	uint64_t most = atomic_load(&cuda->managed->most);

	return bytes <= most && used <= most - bytes;
}

static enum status managed_admit(struct cuda_device *cuda, uint64_t used, size_t bytes,
				 struct error *err)
{
	if (managed_fits(cuda, used, bytes))
		return STATUS_OK;
	if (ask_what_fits(cuda, used + bytes, err) != STATUS_OK)
		return err ? err->status : STATUS_DEVICE;
	if (managed_fits(cuda, used, bytes))
		return STATUS_OK;
	return cuda_check_size(cudaErrorMemoryAllocation, "managed memory beyond what is free",
			       bytes, err);
}

enum status cuda_managed_alloc(struct device *device, size_t bytes, void **out, struct error *err)
{
	struct cuda_device *cuda = (struct cuda_device *)device;
	uint64_t used = atomic_fetch_add(&cuda->managed->bytes, bytes);
	enum status status = managed_admit(cuda, used, bytes, err);

	if (status == STATUS_OK)
		status = cuda_check_size(cudaMallocManaged(out, bytes, cudaMemAttachGlobal),
					 "cudaMallocManaged", bytes, err);
	if (status != STATUS_OK)
		atomic_fetch_sub(&cuda->managed->bytes, bytes);
	return status;
}

enum status cuda_managed_free(struct device *device, void *memory, size_t bytes, struct error *err)
{
	atomic_fetch_sub(&((struct cuda_device *)device)->managed->bytes, bytes);
	return cuda_check_size(cudaFree(memory), "cudaFree of managed memory", bytes, err);
}
