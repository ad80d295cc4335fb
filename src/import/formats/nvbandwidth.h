/* Shared by the readers of the two forms of nvbandwidth's output. */
#ifndef GPUPROOF_IMPORT_NVBANDWIDTH_H
#define GPUPROOF_IMPORT_NVBANDWIDTH_H

#include "import/reading.h"

struct nvb_devices {
	size_t *items; /* indices in the result */
	size_t count, capacity;
	bool listed; /* the file names them; else they are as many as the matrices have columns */
};
/* "NVIDIA TITAN X (Pascal) (00000000:3b:00): (node-7)" as the next device. False: it is none. */
bool nvb_add_device(struct import *import, struct nvb_devices *devices, char *text,
		    const char *host);

struct nvb_matrix {
	const char *test; /* "host_to_device_memcpy_ce" */
	size_t rows, columns;
	const double *cells; /* GB/s or ns, NaN: none */
	size_t line;         /* of the first row; 0: JSON, at `path` */
	const struct json_path *path;
};
/* Cases of the matrix of a test; one that has no counterpart is named in the result. */
enum status nvb_add_matrix(struct import *import, struct nvb_devices *devices,
			   const struct nvb_matrix *matrix);
/* A test that ended in an error, wrong data for one, has no figure. */
enum status nvb_add_failure(struct import *import, struct nvb_devices *devices, size_t line,
			    const char *test, const char *reason);

#endif
