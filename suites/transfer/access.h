/*
 * Direct access between devices outlives a case: the next one sets what it needs, and switching
 * takes longer than many a case. What was switched is known here, so that a pair is switched once
 * and the next suite finds all as it was. Without a switch between them GPUs have few peers at a
 * time (8): a pair that needs one more takes the place of an earlier case's.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_ACCESS_H
#define GPUPROOF_SUITES_TRANSFER_ACCESS_H

#include <stdbool.h>

#include "device/backend.h"

struct access;

struct access *access_open(void);
/* Takes back what access_set() has switched on. Errors mean that there is nothing to take back. */
void access_close(struct access *access);

/* A case begins: only what it asks for from here on must stay. */
void access_turn(struct access *access);

/* Switches access between `a` and `b` on or off, in both directions. */
enum status access_set(struct access *access, struct device *a, struct device *b, bool on,
		       struct error *err);

#endif
