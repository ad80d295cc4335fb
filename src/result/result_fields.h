/* Field tables that map `struct result` and its parts to JSON objects. */
#ifndef GPUPROOF_RESULT_RESULT_FIELDS_H
#define GPUPROOF_RESULT_RESULT_FIELDS_H

#include "base/file.h"
#include "result/json/json_fields.h"

extern const struct field result_fields[];        /* struct result: the whole document */
extern const struct field result_header_fields[]; /* struct result without cases */
struct result;
extern const struct field case_fields[];        /* struct case_result */
extern const struct field lost_worker_fields[]; /* struct lost_worker */
extern const struct field
	presentation_fields[]; /* struct presentation without its suite: presentation.c */
extern const struct field judgement_fields[]; /* struct verdicts: verdict_fields.c */

extern const struct field device_info_fields[]; /* device_json.c */
extern const struct field finding_fields[];     /* device_json.c */

extern const char *const better_words[]; /* of enum better */

/*
 * struct case_parameter *: {"size": 67108864, "direction": "h2d"}; for numbers also text and unit.
 */
extern const struct codec codec_parameters;
extern const struct codec codec_parameter_text;
extern const struct codec codec_parameter_units;
/* Point of a case or check; derived from the id if it is absent (case_point.c). */
extern const struct codec codec_point;
extern const struct codec codec_check_point;
/* As result_from_json(), case by case: faster for documents of this program. */
enum status result_from_summary(struct result *result, const char *text, size_t length,
				struct error *err);
/* Reads the header of a whole document without parsing its cases. */
enum status result_header_of_json(struct result *result, const char *text, size_t length,
				  struct error *err);
/* Writes the document of result_to_json() in pieces. */
void result_to_file(const struct result *result, struct file_output *output);
/* First two members of the document: format and version. */
extern const struct codec codec_format;

#endif
