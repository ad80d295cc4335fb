# Suites of shared objects (src/plan/suites/plugin.h): the interface that they are built against, and what `cmake --install`
# gives them: its headers, and a CMake package.

# Headers that a suite includes, and those that they include: tests/commands/test_plugin.sh holds the list against the compiler.
set(suite_headers
	base/error.h base/text.h
	device/backend.def device/backend.h device/backend_calls.h device/device_info.h device/device_set.h
	device/finding.h device/ranks/transport.h device/telemetry.h
	kernels/kernel.h kernels/memory/fill.h
	measure/phases.h measure/processes/world.h measure/run.h measure/sampling/sampling.h measure/telemetry/energy_meter.h
	plan/config.h plan/key.h plan/plan.h plan/sampling_rules.h plan/suite.h plan/suites/plugin.h
	result/aspect.h result/metric.h result/presentation.h result/result.h
	suites/shared/buffers.h)
set(suite_header_files "")
foreach(header ${suite_headers})
	if(NOT header MATCHES "^(kernels|suites)/")
		set(header src/${header})
	endif()
	list(APPEND suite_header_files ${header})
endforeach()

set(suite_api_folder ${CMAKE_BINARY_DIR}/suite_api)
set(suite_abi ${suite_api_folder}/plan/suites/suite_abi.h)
set(suite_exports ${suite_api_folder}/suite_api.list)
list(JOIN suite_header_files "|" joined)
add_custom_command(
	OUTPUT ${suite_api_folder}/stamp
	BYPRODUCTS ${suite_abi} ${suite_exports}
	COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} "-DHEADERS=${joined}" -DABI=${suite_abi} -DEXPORTS=${suite_exports}
		-P ${CMAKE_SOURCE_DIR}/cmake/suite_api.cmake
	COMMAND ${CMAKE_COMMAND} -E touch ${suite_api_folder}/stamp
	DEPENDS ${suite_header_files} cmake/suite_api.cmake
	VERBATIM)
add_custom_target(suite_api DEPENDS ${suite_api_folder}/stamp)

# Lets suites of shared objects use what the headers declare, and nothing else of the program.
function(export_suite_api program)
	add_dependencies(${program} suite_api)
	target_link_options(${program} PRIVATE -Wl,--dynamic-list=${suite_exports})
	set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${suite_exports})
endfunction()

include(GNUInstallDirs)
foreach(header file IN ZIP_LISTS suite_headers suite_header_files)
	get_filename_component(folder ${header} DIRECTORY)
	install(FILES ${file} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gpuproof/${folder} COMPONENT development)
endforeach()
install(FILES ${suite_abi} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gpuproof/plan/suites COMPONENT development)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/gpuproof-config.cmake.in ${suite_api_folder}/gpuproof-config.cmake
	INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpuproof PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${suite_api_folder}/gpuproof-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${suite_api_folder}/gpuproof-config.cmake ${suite_api_folder}/gpuproof-config-version.cmake
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpuproof COMPONENT development)
