/* JSON of a judgement: member `judgement` of the result, and output of `check --json`. */
#include "result/result_fields.h"
#include "result/verdict.h"

static const char *const verdict_words[] = { "PASS", "WARN",  "FAIL", "INCONCLUSIVE",
					     "SKIP", "ERROR", NULL };
static const char *const comparison_words[] = { "at least",   "at most", "identical devices",
						"population", "fleet",   "",
						NULL };

const char *verdict_fields_name(enum verdict verdict)
{
	return verdict_words[verdict];
}

const struct field check_fields[] = {
	FIELD(verdict_check, verdict, enum, .words = verdict_words),
	FIELD(verdict_check, accepted, bool),
	FIELD_NAMED("wrong_result", verdict_check, wrong, bool),
	FIELD(verdict_check, aspect, enum, .words = aspect_words),
	FIELD(verdict_check, limit, string, .publish = PUBLISH_LABEL, .kind = "limit"),
	FIELD_NAMED("case", verdict_check, case_id, string, .publish = PUBLISH_CASE),
	FIELD(verdict_check, suite, string, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, point, string, .publish = PUBLISH_CASE),
	FIELD(verdict_check, machine, string, .omitted = true, .publish = PUBLISH_FILE),
	FIELD(verdict_check, devices, string, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, failed_device, string, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, model, string, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, uuid, string, .publish = PUBLISH_NAME, .kind = "uuid"),
	FIELD(verdict_check, metric, string, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, unit, string, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, value, real),
	FIELD(verdict_check, low, real),
	FIELD(verdict_check, high, real),
	FIELD(verdict_check, comparison, enum, .words = comparison_words),
	FIELD(verdict_check, bound, real),
	FIELD(verdict_check, margin, real),
	FIELD(verdict_check, launches, uint64),
	FIELD(verdict_check, samples, uint64),
	FIELD(verdict_check, bound_text, string, .publish = PUBLISH_PLAIN),
	FIELD_NAMED("origin", verdict_check, bound_origin, string, .publish = PUBLISH_DROP),
	FIELD(verdict_check, place, string, .publish = PUBLISH_FILE),
	FIELD(verdict_check, reason, string, .publish = PUBLISH_LEFT_OUT),
	FIELD(verdict_check, task, string, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, task_group, string, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, variant, string, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, reference, real, .omitted = true),
	FIELD(verdict_check, reference_count, uint64, .omitted = true),
	FIELD(verdict_check, reference_device, string, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(verdict_check, deciding_low, real, .omitted = true),
	FIELD(verdict_check, deciding_high, real, .omitted = true),
	FIELD(verdict_check, warns_only, bool, .omitted = true),
	FIELD(verdict_check, xid, uint64, .omitted = true),
	FIELD(verdict_check, cause, enum, .words = cause_words, .lenient = true),
	{ 0 },
};

static const struct field aspect_fields[] = {
	FIELD(aspect_judgement, aspect, enum, .words = aspect_words),
	FIELD(aspect_judgement, promised, bool),
	FIELD(aspect_judgement, verdict, enum, .words = verdict_words),
	FIELD(aspect_judgement, checks, uint64),
	FIELD(aspect_judgement, judged, uint64),
	FIELD(aspect_judgement, passed, uint64),
	FIELD(aspect_judgement, margin, real),
	FIELD(aspect_judgement, reason, string, .publish = PUBLISH_LEFT_OUT),
	FIELD(aspect_judgement, measured, bool, .omitted = true),
	{ 0 },
};

const struct field device_judgement_fields[] = {
	FIELD(device_judgement, machine, string, .omitted = true, .publish = PUBLISH_FILE),
	FIELD(device_judgement, device, string, .publish = PUBLISH_KEEP),
	FIELD(device_judgement, model, string, .publish = PUBLISH_KEEP),
	FIELD(device_judgement, uuid, string, .publish = PUBLISH_NAME, .kind = "uuid"),
	FIELD(device_judgement, serial, string, .omitted = true, .publish = PUBLISH_NAME,
	      .kind = "serial"),
	FIELD_LIST("aspects", device_judgement, aspects, aspect_count, array, .one_line = true,
		   .fields = aspect_fields),
	{ 0 },
};

/* --anonymise derives reasons again from the checks. */
static const struct field reason_fields[] = {
	FIELD(verdict_reason, verdict, enum, .words = verdict_words),
	FIELD(verdict_reason, accepted, bool),
	FIELD_NAMED("wrong_result", verdict_reason, wrong, bool),
	FIELD(verdict_reason, aspect, enum, .words = aspect_words),
	FIELD(verdict_reason, cause, enum, .words = cause_words, .lenient = true),
	FIELD(verdict_reason, machine, string, .publish = PUBLISH_DROP),
	FIELD(verdict_reason, devices, string, .publish = PUBLISH_DROP),
	FIELD(verdict_reason, serial, string, .publish = PUBLISH_DROP),
	FIELD(verdict_reason, headline, string, .publish = PUBLISH_DROP),
	FIELD(verdict_reason, text, string, .publish = PUBLISH_DROP),
	FIELD(verdict_reason, remedy, string, .publish = PUBLISH_DROP),
	FIELD(verdict_reason, margin, real),
	FIELD(verdict_reason, check, uint64),
	FIELD(verdict_reason, checks, uint64),
	{ 0 },
};

const struct field judgement_fields[] = {
	FIELD_NAMED("verdict", verdicts, overall, enum, .words = verdict_words),
	FIELD_NAMED("wrong_result", verdicts, wrong, bool),
	FIELD(verdicts, strict, bool),
	FIELD(verdicts, trend, bool, .optional = true),
	FIELD(verdicts, sentence, string, .publish = PUBLISH_DROP),
	FIELD(verdicts, limits, string, .publish = PUBLISH_FILE),
	FIELD(verdicts, limits_text, string, .publish = PUBLISH_INI),
	FIELD(verdicts, repeat, string, .omitted = true, .publish = PUBLISH_DROP),
	FIELD_LIST("reasons", verdicts, reasons, reason_count, array,
		   FIELD_CAPACITY(verdicts, reason_capacity), .fields = reason_fields,
		   .omitted = true),
	FIELD_LIST("devices", verdicts, devices, device_count, array,
		   FIELD_CAPACITY(verdicts, device_capacity), .fields = device_judgement_fields),
	FIELD_LIST("checks", verdicts, checks, count, array, FIELD_CAPACITY(verdicts, capacity),
		   .one_line = true, .fields = check_fields),
	{ 0 },
};

char *verdict_fields_to_json(const struct verdicts *v)
{
	struct json_writer w = { .expand = 3 };

	writer_open(&w, '{');
	writer_text_member(&w, "format", "gpuproof-verdicts");
	writer_count_member(&w, "version", 1);
	writer_open_member(&w, "counts", '{');
	for (int i = 0; i < VERDICT_COUNT; i++)
		writer_count_member(&w, verdict_fields_name((enum verdict)i), v->counts[i]);
	writer_close(&w, '}');
	for (const struct field *f = judgement_fields; f->name; f++) {
		writer_key(&w, f->name);
		f->codec->write(&w, f, v);
	}
	writer_close(&w, '}');
	return writer_finish(&w);
}
