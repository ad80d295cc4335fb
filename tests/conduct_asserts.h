/* What tests of the conductor look at; after <cmocka.h>. */
#ifndef GPUPROOF_TESTS_CONDUCT_ASSERTS_H
#define GPUPROOF_TESTS_CONDUCT_ASSERTS_H

#include "conduct_rig.h"

#define assert_reason(rig, number, expected)                                                       \
	do {                                                                                       \
		const struct case_result *c_ = rig_case(rig, number);                              \
		assert_non_null(c_);                                                               \
		if (!strstr(c_->reason, expected))                                                 \
			fail_msg("case %d: '%s' lacks '%s'", number, c_->reason, expected);        \
	} while (0)

static void assert_status(const struct rig *rig, int number, enum case_status status)
{
	const struct case_result *c = rig_case(rig, number);

	assert_non_null(c);
	assert_string_equal(case_status_name(c->status), case_status_name(status));
}

#endif
