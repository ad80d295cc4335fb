# Run at build time: writes what a plug-in and the program must agree about, from the headers that are installed:
#   cmake -DSOURCE=... -DHEADERS=a.h|b.h -DABI=suite_abi.h -DEXPORTS=suite_api.list -P suite_api.cmake
# ABI: a header with SUITE_ABI, the first 32 bits of the SHA-256 of the headers without comments and blanks. Any change of
# a struct, a function or a macro makes another number.
# EXPORTS: the functions and variables that the headers declare, as the linker's list of symbols that plug-ins may use.
string(REPLACE "|" ";" headers "${HEADERS}")
set(all "")
set(symbols "")
foreach(header ${headers})
	file(READ ${SOURCE}/${header} text)
	string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" " " text "${text}")
	string(REGEX REPLACE "[ \t\r\n]+" " " squeezed "${text}")
	string(APPEND all "${header}:${squeezed}\n")

	# Statements outside of braces: prototypes, and variables that are `extern`.
	string(REPLACE ";" "@" text "${text}")
	string(REGEX REPLACE "(^|\n)[ \t]*#([^\n\\]|\\\\\n|\\\\[^\n])*" "\n" text "${text}")
	string(REGEX REPLACE "[ \t\r\n]+" " " text "${text}")
	string(REPLACE "extern \"C\" {" "" text "${text}")
	string(REPLACE "[" "<" text "${text}")
	string(REPLACE "]" ">" text "${text}")
	set(before "")
	while(NOT before STREQUAL text)
		set(before "${text}")
		string(REGEX REPLACE "{[^{}]*}" "@" text "${text}")
	endwhile()
	string(REPLACE "@" ";" statements "${text}")
	foreach(statement ${statements})
		string(STRIP "${statement}" statement)
		if(statement MATCHES "^(static|typedef|enum [a-z_]+$|struct [a-z_]+$)")
			continue()
		elseif(statement MATCHES "^extern [^(]*[ *]([a-z_][a-z0-9_]*)(<[^>]*>)*$")
			list(APPEND symbols ${CMAKE_MATCH_1})
		elseif(statement MATCHES "^[a-z_][^()=]*[ *]([a-z_][a-z0-9_]*)\\(" AND NOT CMAKE_MATCH_1 STREQUAL "__attribute__")
			list(APPEND symbols ${CMAKE_MATCH_1})
		endif()
	endforeach()
endforeach()
list(REMOVE_DUPLICATES symbols)
list(SORT symbols)
list(JOIN symbols ";\n\t" lines)
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 8 digest)

function(write_changed file content)
	set(old "")
	if(EXISTS ${file})
		file(READ ${file} old)
	endif()
	if(NOT old STREQUAL content)
		file(WRITE ${file} "${content}")
	endif()
endfunction()
write_changed(${ABI} "/* Made by cmake/suite_api.cmake: the interface between gpuproof and suites of libraries. */
#ifndef GPUPROOF_PLAN_SUITES_SUITE_ABI_H
#define GPUPROOF_PLAN_SUITES_SUITE_ABI_H

#define SUITE_ABI 0x${digest}u

#endif
")
write_changed(${EXPORTS} "{\n\t${lines};\n};\n")
