/* Entry points of the kernels in this folder, which differ only in what they launch. */
#ifndef GPUPROOF_KERNELS_LAYERS_LAYERS_CUH
#define GPUPROOF_KERNELS_LAYERS_LAYERS_CUH

#include "kernels/layers/layers.h"

#include "device/cuda/cuda_kernel.h"
#include "kernels/storage.cuh"

/*
 * Rejects precisions that kernel `name` does not support, does nothing without elements, and
 * otherwise calls launch(T()) for the storage type T of a->precision. a: its arguments.
 */
template <typename A, typename Launch>
static enum status layer_launch(const char *name, const A *a, bool any, struct error *err,
				Launch launch)
{
	if (layer_check(name, a->precision, err) != STATUS_OK)
		return err->status;
	if (!any)
		return STATUS_OK;
#define CALL(T) launch(T())
	FOR_STORED_FLOATS(a->precision, CALL)
#undef CALL
	return cuda_device_check_launch(name, err);
}

#endif
