#include "result/host/build.h"

#if defined(__SANITIZE_ADDRESS__)
#define BUILD_TYPE "with AddressSanitizer"
#elif defined(__SANITIZE_THREAD__)
#define BUILD_TYPE "with ThreadSanitizer"
#elif defined(__OPTIMIZE__)
#define BUILD_TYPE "optimised"
#else
#define BUILD_TYPE "without optimisation"
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

const char *build_version(void)
{
	return build_commit ? build_commit : GPUPROOF_VERSION;
}

const char *build_compiler(void)
{
	return COMPILER ", " BUILD_TYPE;
}
