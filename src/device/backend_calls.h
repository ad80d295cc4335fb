/*
 * Interface between suites and backends: one inline wrapper per operation of backend.def, named
 * backend_<operation>, that returns STATUS_UNSUPPORTED if the backend lacks it. Included by
 * device/backend.h only.
 */
#ifndef GPUPROOF_DEVICE_BACKEND_CALLS_H
#define GPUPROOF_DEVICE_BACKEND_CALLS_H

#include "device/backend.h"

static inline enum status backend_missing(const struct device *device, const char *operation,
					  struct error *err)
{
	return error_set(err, STATUS_UNSUPPORTED, "backend %s does not implement %s",
			 device->backend->name, operation);
}

#define OPERATION(owner, name, parameters, arguments)                                              \
	static inline enum status backend_##name parameters                                        \
	{                                                                                          \
		const struct backend *called = (owner)->backend;                                   \
                                                                                                   \
		return called->name ? called->name arguments : backend_missing(owner, #name, err); \
	}
#define COLLECTIVE(name, parameters, arguments)                                          \
	static inline enum status backend_##name parameters                              \
	{                                                                                \
		const struct backend *called = communicator->device->backend;            \
                                                                                         \
		if (communicator->operations)                                            \
			return communicator->operations->name arguments;                 \
		return called->name ? called->name arguments                             \
				    : backend_missing(communicator->device, #name, err); \
	}
#define DESTRUCTOR(object, name)                                 \
	static inline void backend_##name(struct object *object) \
	{                                                        \
		if (object)                                      \
			object->device->backend->name(object);   \
	}
#define CUDA_DESTRUCTOR DESTRUCTOR
#include "device/backend.def"

/* Accepts NULL. */
static inline enum status backend_range_release(struct memory_range *range, struct error *err)
{
	return range ? range->device->backend->range_release(range, err) : STATUS_OK;
}

/* Launches the kernel `name`; STATUS_UNSUPPORTED if the backend lacks it. */
static inline enum status backend_launch(struct stream *stream, const char *name,
					 const void *arguments, struct error *err)
{
	const struct backend *backend = stream->device->backend;
	kernel_fn *kernel = backend->kernel ? backend->kernel(name) : NULL;

	if (!kernel)
		return error_set(err, STATUS_UNSUPPORTED, "backend %s has no kernel %s",
				 backend->name, name);
	return kernel(stream, arguments, err);
}

#endif
