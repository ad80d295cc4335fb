/* JSON of a judgement: member `judgement` of the result, and output of `check --json`. */
#include "result/result_fields.h"
#include "result/verdict.h"

static const char *const verdict_words[] = { "PASS", "WARN",  "FAIL", "INCONCLUSIVE",
					     "SKIP", "ERROR", NULL };
static const char *const comparison_words[] = { "at least",   "at most", "identical devices",
						"population", "fleet",   "",
						NULL };
static const char *const aspect_words[] = { "",          "memory", "link", "gemm", "correctness",
					    "condition", NULL };

const char *verdict_name(enum verdict verdict)
{
	return verdict_words[verdict];
}

static void cause_write(struct json_writer *w, const struct field *f, const void *base)
{
	(void)f;
	writer_text(w, cause_name(((const struct verdict_check *)base)->cause));
}

static void cause_absent(const struct field *f, void *base)
{
	struct verdict_check *check = base;

	(void)f;
	check->cause = cause_of_check(check);
}

/* A newer version may have more causes. */
static enum status cause_read(const json_t *json, const struct field *f, void *base,
			      const struct json_path *path, struct error *err)
{
	if (!json_is_string(json))
		return json_path_error(path, err, "expected a string");
	if (!cause_named(json_string_value(json), &((struct verdict_check *)base)->cause))
		cause_absent(f, base);
	return STATUS_OK;
}

static const struct codec codec_cause = { cause_write, cause_read, cause_absent };

static void reason_cause_write(struct json_writer *w, const struct field *f, const void *base)
{
	(void)f;
	writer_text(w, cause_name(((const struct verdict_reason *)base)->cause));
}

static enum status reason_cause_read(const json_t *json, const struct field *f, void *base,
				     const struct json_path *path, struct error *err)
{
	struct verdict_reason *reason = base;

	(void)f;
	if (!json_is_string(json))
		return json_path_error(path, err, "expected a string");
	if (!cause_named(json_string_value(json), &reason->cause))
		reason->cause = CAUSE_NONE;
	return STATUS_OK;
}

static const struct codec codec_reason_cause = { reason_cause_write, reason_cause_read, NULL };

#define TEXT(name_, member)                                                            \
	{                                                                              \
		.name = name_, .codec = &codec_string, FIELD_AT(verdict_check, member) \
	}
#define REAL(member)                                                                   \
	{                                                                              \
		.name = #member, .codec = &codec_real, FIELD_AT(verdict_check, member) \
	}
#define OPTIONAL_REAL(member)                                                                   \
	{                                                                                       \
		.name = #member, .codec = &codec_real_or_none, FIELD_AT(verdict_check, member), \
		.optional = true                                                                \
	}
#define COUNT(member)                                                                    \
	{                                                                                \
		.name = #member, .codec = &codec_uint64, FIELD_AT(verdict_check, member) \
	}

static const struct field check_fields[] = {
	{ .name = "verdict",
	  .codec = &codec_enum,
	  FIELD_AT(verdict_check, verdict),
	  .words = verdict_words },
	{ .name = "accepted", .codec = &codec_bool, FIELD_AT(verdict_check, accepted) },
	{ .name = "wrong_result", .codec = &codec_bool, FIELD_AT(verdict_check, wrong) },
	{ .name = "aspect",
	  .codec = &codec_enum,
	  FIELD_AT(verdict_check, aspect),
	  .words = aspect_words },
	TEXT("limit", limit),
	TEXT("case", case_id),
	{ .name = "suite",
	  .codec = &codec_string,
	  FIELD_AT(verdict_check, suite),
	  .optional = true },
	/* After "case" and "suite": derived from "case" if absent. */
	{ .name = "point",
	  .codec = &codec_check_point,
	  FIELD_AT(verdict_check, point),
	  .optional = true },
	{ .name = "machine",
	  .codec = &codec_string_or_none,
	  FIELD_AT(verdict_check, machine),
	  .optional = true },
	TEXT("devices", devices),
	{ .name = "failed_device",
	  .codec = &codec_string_or_none,
	  FIELD_AT(verdict_check, failed_device),
	  .optional = true },
	TEXT("model", model),
	TEXT("uuid", uuid),
	{ .name = "metric", .codec = &codec_string, FIELD_AT(verdict_check, metric) },
	TEXT("unit", unit),
	REAL(value),
	REAL(low),
	REAL(high),
	{ .name = "comparison",
	  .codec = &codec_enum,
	  FIELD_AT(verdict_check, comparison),
	  .words = comparison_words },
	REAL(bound),
	REAL(margin),
	COUNT(launches),
	COUNT(samples),
	TEXT("bound_text", bound_text),
	TEXT("origin", bound_origin),
	TEXT("place", place),
	TEXT("reason", reason),
	{ .name = "task",
	  .codec = &codec_string_or_none,
	  FIELD_AT(verdict_check, task),
	  .optional = true },
	OPTIONAL_REAL(reference),
	{ .name = "reference_count",
	  .codec = &codec_count_or_none,
	  FIELD_AT(verdict_check, reference_count),
	  .optional = true },
	{ .name = "reference_device",
	  .codec = &codec_string_or_none,
	  FIELD_AT(verdict_check, reference_device),
	  .optional = true },
	OPTIONAL_REAL(deciding_low),
	OPTIONAL_REAL(deciding_high),
	{ .name = "warns_only",
	  .codec = &codec_mark,
	  FIELD_AT(verdict_check, warns_only),
	  .optional = true },
	{ .name = "xid",
	  .codec = &codec_count_or_none,
	  FIELD_AT(verdict_check, xid),
	  .optional = true },
	/* After all others: where it is absent, it is derived of them. */
	{ .name = "cause",
	  .codec = &codec_cause,
	  FIELD_AT(verdict_check, cause),
	  .optional = true },
	{ 0 },
};

static const struct field aspect_fields[] = {
	{ .name = "aspect",
	  .codec = &codec_enum,
	  FIELD_AT(aspect_judgement, aspect),
	  .words = aspect_words },
	{ .name = "promised", .codec = &codec_bool, FIELD_AT(aspect_judgement, promised) },
	{ .name = "verdict",
	  .codec = &codec_enum,
	  FIELD_AT(aspect_judgement, verdict),
	  .words = verdict_words },
	{ .name = "checks", .codec = &codec_uint64, FIELD_AT(aspect_judgement, checks) },
	{ .name = "judged", .codec = &codec_uint64, FIELD_AT(aspect_judgement, judged) },
	{ .name = "passed", .codec = &codec_uint64, FIELD_AT(aspect_judgement, passed) },
	{ .name = "margin", .codec = &codec_real, FIELD_AT(aspect_judgement, margin) },
	{ .name = "reason", .codec = &codec_string, FIELD_AT(aspect_judgement, reason) },
	{ .name = "measured",
	  .codec = &codec_mark,
	  FIELD_AT(aspect_judgement, measured),
	  .optional = true },
	{ 0 },
};

static const struct field device_fields[] = {
	{ .name = "machine",
	  .codec = &codec_string_or_none,
	  FIELD_AT(device_judgement, machine),
	  .optional = true },
	{ .name = "device", .codec = &codec_string, FIELD_AT(device_judgement, device) },
	{ .name = "model", .codec = &codec_string, FIELD_AT(device_judgement, model) },
	{ .name = "uuid", .codec = &codec_string, FIELD_AT(device_judgement, uuid) },
	{ .name = "serial",
	  .codec = &codec_string_or_none,
	  FIELD_AT(device_judgement, serial),
	  .optional = true },
	{ .name = "aspects",
	  .codec = &codec_array,
	  FIELD_COUNTED(device_judgement, aspects, aspect_count),
	  .one_line = true,
	  .fields = aspect_fields },
	{ 0 },
};

#define REASON_TEXT(member)                                                               \
	{                                                                                 \
		.name = #member, .codec = &codec_string, FIELD_AT(verdict_reason, member) \
	}

static const struct field reason_fields[] = {
	{ .name = "verdict",
	  .codec = &codec_enum,
	  FIELD_AT(verdict_reason, verdict),
	  .words = verdict_words },
	{ .name = "accepted", .codec = &codec_bool, FIELD_AT(verdict_reason, accepted) },
	{ .name = "wrong_result", .codec = &codec_bool, FIELD_AT(verdict_reason, wrong) },
	{ .name = "aspect",
	  .codec = &codec_enum,
	  FIELD_AT(verdict_reason, aspect),
	  .words = aspect_words },
	{ .name = "cause", .codec = &codec_reason_cause, FIELD_AT(verdict_reason, cause) },
	REASON_TEXT(machine),
	REASON_TEXT(devices),
	REASON_TEXT(serial),
	REASON_TEXT(headline),
	REASON_TEXT(text),
	REASON_TEXT(remedy),
	{ .name = "margin", .codec = &codec_real, FIELD_AT(verdict_reason, margin) },
	{ .name = "check", .codec = &codec_uint64, FIELD_AT(verdict_reason, check) },
	{ .name = "checks", .codec = &codec_uint64, FIELD_AT(verdict_reason, checks) },
	{ 0 },
};

const struct field judgement_fields[] = {
	{ .name = "verdict",
	  .codec = &codec_enum,
	  FIELD_AT(verdicts, overall),
	  .words = verdict_words },
	{ .name = "wrong_result", .codec = &codec_bool, FIELD_AT(verdicts, wrong) },
	{ .name = "strict", .codec = &codec_bool, FIELD_AT(verdicts, strict) },
	{ .name = "trend", .codec = &codec_bool, FIELD_AT(verdicts, trend), .optional = true },
	{ .name = "sentence", .codec = &codec_string, FIELD_AT(verdicts, sentence) },
	{ .name = "limits", .codec = &codec_string, FIELD_AT(verdicts, limits) },
	{ .name = "limits_text", .codec = &codec_string, FIELD_AT(verdicts, limits_text) },
	{ .name = "repeat",
	  .codec = &codec_string_or_none,
	  FIELD_AT(verdicts, repeat),
	  .optional = true },
	{ .name = "reasons",
	  .codec = &codec_array,
	  FIELD_COUNTED(verdicts, reasons, reason_count),
	  FIELD_CAPACITY(verdicts, reason_capacity),
	  .optional = true,
	  .fields = reason_fields },
	{ .name = "devices",
	  .codec = &codec_array,
	  FIELD_COUNTED(verdicts, devices, device_count),
	  FIELD_CAPACITY(verdicts, device_capacity),
	  .fields = device_fields },
	{ .name = "checks",
	  .codec = &codec_array,
	  FIELD_COUNTED(verdicts, checks, count),
	  FIELD_CAPACITY(verdicts, capacity),
	  .one_line = true,
	  .fields = check_fields },
	{ 0 },
};

char *verdicts_to_json(const struct verdicts *v)
{
	struct json_writer w = { .expand = 3 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-verdicts");
	writer_count_member(&w, "version", 1);
	writer_key(&w, "counts");
	writer_open(&w, '{');
	for (int i = 0; i < VERDICT_COUNT; i++)
		writer_count_member(&w, verdict_name((enum verdict)i), v->counts[i]);
	writer_close(&w, '}');
	for (const struct field *f = judgement_fields; f->name; f++) {
		writer_key(&w, f->name);
		f->codec->write(&w, f, v);
	}
	writer_close(&w, '}');
	return writer_finish(&w);
}
