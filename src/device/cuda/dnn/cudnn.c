/* Opening cuDNN, and convolutions with it as operations of the backend. */
#include "device/cuda/dnn/cudnn.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/architecture.h"
#include "device/cuda/blas/cublas.h"
#include "device/cuda/cuda_backend.h"

#define STRING(x) #x
#define EXPANDED(x) STRING(x)

static const struct library_symbol symbols[] = {
#define CUDNN(name, parameters) { #name, offsetof(struct cudnn_functions, name), true },
#include "device/cuda/dnn/cudnn.def"
#undef CUDNN
	{ "cudnnGetVersion", offsetof(struct cudnn_functions, cudnnGetVersion), true },
	{ "cudnnGetErrorString", offsetof(struct cudnn_functions, cudnnGetErrorString), true },
	{ "cudnnGetLastErrorString", offsetof(struct cudnn_functions, cudnnGetLastErrorString),
	  true },
};

struct library cudnn_library = {
	.name = "cuDNN",
	.soname = "libcudnn.so.9",
	.cost = "convolutions use the built-in kernels instead",
	.symbols = symbols,
	.symbol_count = ARRAY_SIZE(symbols),
	.functions = &cudnn,
};

/*
 * cuDNN opens cuBLAS and NVRTC by their names when it needs them; opening them before, from any
 * folder, lets the loader resolve them. NVRTC is for engines that are compiled with their plan.
 */
static struct library nvrtc_library = {
	.name = "NVRTC",
	.soname = "libnvrtc.so." EXPANDED(CUBLAS_VER_MAJOR),
};

/* From 9.0 on, the number is major * 10000 + minor * 100 + patch. */
void cudnn_version(char *out, size_t size)
{
	size_t version = cudnn.cudnnGetVersion();

	snprintf(out, size, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

enum status cudnn_serves(int capability, struct error *err)
{
	char version[32];
	int since;

	if (cuda_device_emulated_capability())
		return error_set(err, STATUS_UNSUPPORTED,
				 "cuDNN would use its code for the real GPU, not for the emulated "
				 "compute capability");
	if (library_open(&cudnn_library, err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	since = cudnn.cudnnGetVersion() >= 91100 ? 75 : 50;
	if (capability >= since)
		return STATUS_OK;
	cudnn_version(version, sizeof(version));
	return error_set(err, STATUS_UNSUPPORTED,
			 "cuDNN %s has no code for compute capability %d.%d; it needs %d.%d or "
			 "newer",
			 version, capability / 10, capability % 10, since / 10, since % 10);
}

void cudnn_handle_free(void *handle)
{
	if (handle)
		cudnn.cudnnDestroy(handle);
}

enum status cuda_convolution_open(struct stream *stream, const struct convolution_shape *shape,
				  int pass, uint64_t workspace, unsigned most,
				  struct convolution_engines **out, struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	struct cudnn_engines *engines;

	if (cudnn_serves(architecture_capability_number(&stream->device->info), err) != STATUS_OK ||
	    cuda_device_use(stream->device, err) != STATUS_OK)
		return err->status;
	cublas_open(NULL);
	library_open(&nvrtc_library, NULL);
	if (cudnn_graph_handle_new(&s->cudnn, s->handle, err) != STATUS_OK)
		return err->status;
	engines = xcalloc(1, sizeof(*engines));
	engines->base.device = stream->device;
	engines->handle = s->cudnn;
	engines->pass = (enum convolution_pass)pass;
	*out = &engines->base;
	if (cudnn_graph_engines_find(engines, shape, workspace, most, err) != STATUS_OK) {
		cuda_convolution_close(&engines->base);
		*out = NULL;
	}
	return err->status;
}

enum status cuda_convolution_keep(struct convolution_engines *engines, unsigned engine,
				  struct error *err)
{
	(void)err;
	cudnn_graph_engines_keep((struct cudnn_engines *)engines, engine);
	return STATUS_OK;
}

enum status cuda_convolution_run(struct convolution_engines *engines, unsigned engine,
				 const struct convolution_tensors *tensors, struct error *err)
{
	static const char *const kernels[] = { [PASS_FORWARD] = "convolution_forward",
					       [PASS_DATA] = "convolution_data_gradient",
					       [PASS_WEIGHTS] = "convolution_weight_gradient",
					       [PASS_WEIGHTS_ADD] = "convolution_weight_gradient" };
	struct cudnn_engines *e = (struct cudnn_engines *)engines;

	if (cuda_device_use(engines->device, err) == STATUS_OK &&
	    cudnn_graph_engine_execute(e, engine, tensors, err) == STATUS_OK)
		cuda_backend_path(kernels[e->pass], "cuDNN");
	return err->status;
}

void cuda_convolution_close(struct convolution_engines *engines)
{
	cudnn_graph_engines_release((struct cudnn_engines *)engines);
	free(engines);
}
