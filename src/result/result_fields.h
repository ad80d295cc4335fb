/* Field tables that map `struct result` and its parts to JSON objects. */
#ifndef GPUPROOF_RESULT_RESULT_FIELDS_H
#define GPUPROOF_RESULT_RESULT_FIELDS_H

#include "result/json/json_fields.h"

extern const struct field result_fields[];        /* struct result: the whole document */
extern const struct field result_header_fields[]; /* struct result without cases */
struct result;
extern const struct field case_fields[];        /* struct case_result */
extern const struct field lost_worker_fields[]; /* struct lost_worker */
extern const struct field telemetry_during_fields[];
/* Structs without the name that is their key in the document. */
extern const struct field metric_fields[];        /* struct metric_value */
extern const struct field series_fields[];        /* struct series */
extern const struct field watch_fields[];         /* struct watch */
extern const struct field time_quantity_fields[]; /* struct time_quantity */
extern const struct field
	presentation_fields[]; /* struct presentation without its suite: presentation.c */
/* struct verdicts, verdict_check and device_judgement: verdict_fields.c */
extern const struct field judgement_fields[], check_fields[], device_judgement_fields[];

/* device_fields.c; struct fact with its name */
extern const struct field device_info_fields[], finding_fields[], fact_fields[], component_fields[];

extern const char *const better_words[]; /* of enum better */

#endif
