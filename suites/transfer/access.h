/*
 * Peer access between devices outlives a case: the next one sets what it needs, and a change takes
 * longer than many cases. Changes are recorded here, so that a pair is changed once and the next
 * suite finds the initial state. Without a switch between them GPUs have few peers at a time (8): a
 * pair that needs one more replaces one of an earlier case.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_ACCESS_H
#define GPUPROOF_SUITES_TRANSFER_ACCESS_H

#include <stdbool.h>

#include "device/backend.h"

struct access;

struct access *access_open(void);
/* Disables what access_set() has enabled. Errors mean that there is nothing to disable. */
void access_close(struct access *access);

/* Starts a case: only access requested from here on must stay. */
void access_turn(struct access *access);

/* Enables or disables access between `a` and `b`, in both directions. */
enum status access_set(struct access *access, struct device *a, struct device *b, bool on,
		       struct error *err);

#endif
