# embed_files(<variable> <folder> <patterns>): a C file that holds every matching file as bytes, in a table
# `<variable>[]` of { name, data, size } ending with a NULL name; names are without folders. String literals would do for small
# files only: over 4,095 bytes they warn under -pedantic.
# Arguments after the patterns are paths of more files, in their order.
function(embed_files variable folder patterns)
	set(globs "")
	foreach(pattern ${patterns})
		list(APPEND globs "${CMAKE_SOURCE_DIR}/${folder}/${pattern}")
	endforeach()
	set(files "")
	if(globs)
		file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${folder} ${globs})
		list(SORT files)
	endif()
	set(output ${CMAKE_BINARY_DIR}/embedded/${variable}.c)
	set(paths "")
	foreach(file ${files})
		list(APPEND paths ${CMAKE_SOURCE_DIR}/${folder}/${file})
	endforeach()
	list(APPEND files ${ARGN})
	list(APPEND paths ${ARGN})
	add_custom_command(
		OUTPUT ${output}
		COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DVARIABLE=${variable} "-DFILES=${files}"
			-DFOLDER=${CMAKE_SOURCE_DIR}/${folder} -P ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
		DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
		VERBATIM)
	set(${variable} ${output} PARENT_SCOPE)
endfunction()
