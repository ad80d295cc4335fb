/* Selects the code of a CUDA module for a device: machine code, or PTX that the driver compiles. */
#ifndef GPUPROOF_DEVICE_IMAGES_H
#define GPUPROOF_DEVICE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * `images` as in CMAKE_CUDA_ARCHITECTURES, separated by spaces: "61-real" is machine code for
 * compute capability 6.1, "61-virtual" is PTX, "61" both. `capability` is major * 10 + minor;
 * `compiles`: the driver is as new as the toolkit, so it can compile the toolkit's PTX.
 *
 * Machine code runs on its own minor number and later ones of the same major number, PTX on all
 * later capabilities. STATUS_OK with "machine code for 6.1" in `how`, or "compiled by the driver
 * from the code for 3.5"; STATUS_UNSUPPORTED with the reason.
 */
enum status device_images_for(const char *images, int capability, bool compiles, char *how,
			      size_t size, struct error *err);

/* True if `how` describes compilation by the driver, which takes seconds at first use. */
bool device_images_compiled(const char *how);

#endif
