/*
 * A backend that is only looked at: three devices of compute capability 9.0, 3.7 and 2.0, built
 * twice with the code images of two toolkits (choice13, choice11), so that the choice between
 * modules can be tested without GPUs.
 */
#include <stdio.h>
#include <string.h>

#include "device/backend.h"
#include "device/images.h"

static const int capabilities[] = { 90, 37, 20 };

static enum status open(const struct backend_options *options, struct error *err)
{
	(void)options;
	(void)err;
	return STATUS_OK;
}

static void close(void)
{
}

static int device_count(void)
{
	return 3;
}

static enum status device_info(int index, struct device_info *out, struct error *err)
{
	(void)err;
	*out = (struct device_info){ .backend = "choice",
				     .index = index,
				     .name = "Looked at",
				     .ecc = -1,
				     .numa_node = -1,
				     .capability_major = capabilities[index] / 10,
				     .capability_minor = capabilities[index] % 10 };
	snprintf(out->id, sizeof(out->id), "choice:%d", index);
	snprintf(out->module, sizeof(out->module), CHOICE_MODULE);
	return STATUS_OK;
}

static enum status drives(int index, char *how, size_t size, struct error *err)
{
	return device_images_for(CHOICE_IMAGES, capabilities[index], true, how, size, err);
}

static enum status device_open(int index, struct device **out, struct error *err)
{
	(void)out;
	return error_set(err, STATUS_UNSUPPORTED, "choice:%d is only looked at", index);
}

extern const struct backend gpuproof_backend;
__attribute__((visibility("default"))) const struct backend gpuproof_backend = {
	.abi = BACKEND_ABI,
	.name = "choice",
	.module = CHOICE_MODULE,
	.open = open,
	.close = close,
	.device_count = device_count,
	.device_info = device_info,
	.device_open = device_open,
	.drives = drives,
};
