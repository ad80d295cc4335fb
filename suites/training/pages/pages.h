/* Additional sections on the pages of suites that train a model (report/view/suite_page.h). */
#ifndef GPUPROOF_SUITES_TRAINING_PAGES_PAGES_H
#define GPUPROOF_SUITES_TRAINING_PAGES_PAGES_H

struct suite_page;

extern const struct suite_page parallel_page; /* strategies.c */
extern const struct suite_page trainmem_page; /* memory_answer.c */

#endif
