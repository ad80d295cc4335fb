#include "result/host/build.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define BUILD_TYPE "with AddressSanitizer"
#elif defined(__SANITIZE_THREAD__)
#define BUILD_TYPE "with ThreadSanitizer"
#elif defined(__OPTIMIZE__)
#define BUILD_TYPE "optimised"
#else
#define BUILD_TYPE "not optimised"
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

/* Symbol version tables of a loaded object (Linux Standard Base, "Symbol Versioning"). */
struct version_tables {
	const char *strings;
	const ElfW(Verneed) * needed;
	size_t count;
};

/*
 * glibc relocates some of the addresses when it loads the object; the others are relative to its
 * base.
 */
static const void *elf_address(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

static struct version_tables build_find_tables(ElfW(Addr) base, const ElfW(Dyn) * dynamic)
{
	struct version_tables tables = { 0 };

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_STRTAB)
			tables.strings = elf_address(base, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_VERNEED)
			tables.needed = elf_address(base, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_VERNEEDNUM)
			tables.count = dynamic->d_un.d_val;
	}
	return tables;
}

/* Callback of dl_iterate_phdr(); the first object is the program itself. */
static int read_floor(struct dl_phdr_info *object, size_t size, void *context)
{
	struct version_tables tables = { 0 };
	int newest = 0;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			tables = build_find_tables(object->dlpi_addr,
						   elf_address(object->dlpi_addr,
							       object->dlpi_phdr[i].p_vaddr));
	if (!tables.strings || !tables.needed)
		return 1;
	for (const ElfW(Verneed) *need = tables.needed; tables.count--;
	     need = (const void *)((const char *)need + need->vn_next)) {
		const ElfW(Vernaux) *name = (const void *)((const char *)need + need->vn_aux);

		for (int i = 0; i < need->vn_cnt;
		     i++, name = (const void *)((const char *)name + name->vna_next)) {
			int minor;

			if (sscanf(tables.strings + name->vna_name, "GLIBC_2.%d", &minor) == 1 &&
			    minor > newest)
				newest = minor;
		}
	}
	*(int *)context = newest;
	return 1;
}

const char *build_glibc_floor(void)
{
	static char floor[16];
	int newest = 0;

	dl_iterate_phdr(read_floor, &newest);
	if (newest)
		snprintf(floor, sizeof(floor), "2.%d", newest);
	return floor;
}
