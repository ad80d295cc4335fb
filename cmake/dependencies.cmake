# Third-party libraries, all from the distribution, gathered in the interface target gpuproof_dependencies.
# With GPUPROOF_STATIC the small ones are linked from their static archives, so that the program runs on a machine that
# lacks them (a GPU node without a package registry); OpenBLAS, hwloc and the libraries of GCC 11 or later stay shared.
# Adding a library: its package in ci/install-deps, a line here, and the folder that may include it in ci/check-layers.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP COMPONENTS C)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(OPENBLAS REQUIRED openblas)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
find_package(mstch REQUIRED)

add_library(gpuproof_dependencies INTERFACE)
target_link_libraries(gpuproof_dependencies INTERFACE Threads::Threads PkgConfig::HWLOC mstch::mstch)
# OpenBLAS is opened when the host backend first multiplies (device/host/blas.c): only its header is needed here.
target_include_directories(gpuproof_dependencies INTERFACE ${OPENBLAS_INCLUDE_DIRS})
if(GPUPROOF_STATIC)
	find_library(JANSSON_ARCHIVE libjansson.a REQUIRED)
	find_library(SQLITE_ARCHIVE libsqlite3.a REQUIRED)
	find_library(ZLIB_ARCHIVE libz.a REQUIRED)
	find_library(ZSTD_ARCHIVE libzstd.a REQUIRED)
	target_include_directories(gpuproof_dependencies INTERFACE ${JANSSON_INCLUDE_DIRS} ${SQLITE_INCLUDE_DIRS}
		${ZLIB_INCLUDE_DIRS} ${ZSTD_INCLUDE_DIRS})
	target_link_libraries(gpuproof_dependencies INTERFACE ${JANSSON_ARCHIVE} ${SQLITE_ARCHIVE} ${ZLIB_ARCHIVE}
		${ZSTD_ARCHIVE})
else()
	target_link_libraries(gpuproof_dependencies INTERFACE PkgConfig::JANSSON PkgConfig::SQLITE PkgConfig::ZLIB
		PkgConfig::ZSTD)
endif()
# For the suites' references. ThreadSanitizer does not know libgomp's barriers: they run on one thread there.
if(OpenMP_C_FOUND AND NOT GPUPROOF_SANITIZE MATCHES "thread")
	target_link_libraries(gpuproof_dependencies INTERFACE OpenMP::OpenMP_C)
endif()
