/* Checks of a config that involve several keys. */
#ifndef GPUPROOF_PLAN_LIMITS_CHECK_H
#define GPUPROOF_PLAN_LIMITS_CHECK_H

#include "plan/ini/document.h"
#include "plan/schema.h"

/* Checks the words of [run] and pairs of keys. */
void config_check(const struct config *config, const struct schema *schema, struct document *d);

#endif
