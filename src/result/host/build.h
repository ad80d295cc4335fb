/* Facts about the running program: from which commit it was built, with what, and what it needs. */
#ifndef GPUPROOF_RESULT_HOST_BUILD_H
#define GPUPROOF_RESULT_HOST_BUILD_H

/*
 * Defined by the file that cmake/version.cmake writes. Only the program gpuproof links it: a commit
 * rebuilds no test.
 */
extern const char build_commit[] __attribute__((weak));

/*
 * "0.2.0", "0.2.0-17-gabc1234" 17 commits later, "-dirty" with changes that are not committed. The
 * project's version in programs without build_commit.
 */
const char *build_version(void);

const char *build_compiler(void); /* "GCC 12.2.0, optimised" */

/*
 * Newest version of glibc that the program refers to, such as "2.34": it does not start where glibc
 * is older. Empty where the program does not say.
 */
const char *build_glibc_floor(void);

#endif
