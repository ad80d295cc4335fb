/* Statements of a backend about the machine and its software: facts, components, findings. */
#ifndef GPUPROOF_DEVICE_FINDING_H
#define GPUPROOF_DEVICE_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Name and value of a fact about the environment ("driver", "580.159.03"). */
typedef void fact_fn(void *context, const char *name, const char *value);

/* A software component that a backend can use, for `doctor`. */
struct component {
	char name[32]; /* "cuBLAS" */
	bool present;
	char version[64];
	char detail[256]; /* where it was found, or why it is missing and what then cannot run */
};

/*
 * Findings about the machine, for `doctor`: permissions, persistence, other processes on a device.
 */
#define FINDING_COUNTS 36 /* as many links has no GPU yet */

enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };
struct finding {
	enum severity severity;
	char subject[160]; /* "persistence cuda:0"; with the node's name in a result of several */
	/* The facts of the subject, for programs: what was looked at, always in the same words. */
	char topic[48]; /* "persistence"; a FINDING_ word where other rooms know it */
	char device[96], node[64], other_node[64]; /* that it is about; "" */
	char text[320]; /* what was found and, unless OK, what it costs and what to do */
	/* A counter with one value for each part of the device, such as a link. */
	size_t count;
	int64_t counts[FINDING_COUNTS];
};

/* Topics that other rooms use. */
#define FINDING_LOST "devices" /* a requested device is present but unusable */
#define FINDING_DEVICE "device"
#define FINDING_BACKEND "backend"
#define FINDING_DRIVER "driver"
#define FINDING_DEVICE_NODES "device nodes"
#define FINDING_PERMISSIONS "permissions"
#define FINDING_PROCESSES "processes"
#define FINDING_ECC "ecc"
#define FINDING_ECC_ERRORS "ecc errors"
#define FINDING_RETIRED "retired pages"
#define FINDING_REMAPPED "remapped rows"
#define FINDING_NVLINK "nvlink"
#define FINDING_NVLINK_CRC "nvlink crc" /* counters, a value for each link */
#define FINDING_NVLINK_REPLAYS "nvlink replays"
#define FINDING_NVLINK_RECOVERIES "nvlink recoveries"
#define FINDING_FABRIC "fabric"
#define FINDING_RECOVERY "recovery" /* what the driver asks for: a reset of the GPU, ... */
#define FINDING_MIG "mig"
#define FINDING_XID "xid" /* in the kernel log */
#define FINDING_PCIE "pcie"
#define FINDING_DRIFT "drift" /* a setting of `node` differs from the majority */
#define FINDING_NODE "node"   /* `node` is slow */
#define FINDING_LINK "link"   /* the link between `node` and `other_node` is slow, not the nodes */
#define FINDING_NODES "nodes"

/* Sets the topic, and a subject made of the topic and `about` (may be ""). */
static inline void finding_set_subject(struct finding *f, const char *topic, const char *about)
{
	snprintf(f->topic, sizeof(f->topic), "%s", topic);
	snprintf(f->subject, sizeof(f->subject), "%.47s%s%.95s", topic, *about ? " " : "", about);
}

/* As finding_set_subject(), for a device. */
static inline void finding_set_device(struct finding *f, const char *topic, const char *device)
{
	finding_set_subject(f, topic, device);
	snprintf(f->device, sizeof(f->device), "%s", device);
}

#endif
