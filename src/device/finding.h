/* A backend's statements about the machine and its software: facts, components, findings. */
#ifndef GPUPROOF_DEVICE_FINDING_H
#define GPUPROOF_DEVICE_FINDING_H

#include <stdbool.h>

/* Name and value of one piece of the environment ("driver", "580.159.03"). */
typedef void fact_fn(void *context, const char *name, const char *value);

/* One piece of software a backend can use, for `doctor`. */
struct component {
	char name[32]; /* "cuBLAS" */
	bool present;
	char version[64];
	char detail[256]; /* where it was found, or why it is missing and what that costs */
};

/*
 * Findings about the machine itself, for `doctor`: permissions, persistence, other users of a
 * device.
 */
enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };
struct finding {
	enum severity severity;
	char subject[160]; /* "persistence cuda:0"; with the node's name in a result of several */
	char text[320];    /* what was found and, unless OK, what it costs and what to do */
};

#endif
