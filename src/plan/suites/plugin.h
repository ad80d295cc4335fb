/*
 * A suite in a shared object of its own, outside gpuproof's sources: a plug-in. It is written as a
 * built-in one is (plan/suite.h), built against the installed headers, and its line SUITE(<name>)
 * is in a file of the object instead of suites.def:
 *
 *	#include "plan/suites/plugin.h"
 *	SUITE(memset)
 *
 * gpuproof_add_suite() of the CMake package writes that file and builds the object. A section
 * [suite memset] with library = ./memset.so loads it.
 */
#ifndef GPUPROOF_PLAN_SUITES_PLUGIN_H
#define GPUPROOF_PLAN_SUITES_PLUGIN_H

#include <stdint.h>

#include "plan/suite.h"
#include "plan/suites/suite_abi.h" /* made by the build: SUITE_ABI */

struct suite_plugin {
	uint32_t abi; /* SUITE_ABI; first, and looked at before anything else */
	const struct suite *suite;
};

/* The object's only symbol that gpuproof looks for. */
#define SUITE_PLUGIN_SYMBOL "gpuproof_suite_plugin"

#ifdef __cplusplus
#define SUITE_C_LINKAGE extern "C"
#else
#define SUITE_C_LINKAGE extern
#endif

#define SUITE(name)                                                      \
	SUITE_C_LINKAGE const struct suite suite_##name;                 \
	SUITE_C_LINKAGE const struct suite_plugin gpuproof_suite_plugin; \
	__attribute__((visibility("default")))                           \
	const struct suite_plugin gpuproof_suite_plugin = { SUITE_ABI, &suite_##name };

#endif
