# Run at build time: writes the help topic `causes` of src/result/causes/causes.def.
file(STRINGS ${INPUT} rows REGEX "^CAUSE")
set(text "why a check did not pass, and what to do about it\n\n")
string(APPEND text "Each check that did not pass has one cause. Terminal, pages, JUnit, Prometheus, OCP and check --as name it by the "
	"same word, which stays the same from version to version.\n")
foreach(row IN LISTS rows)
	if(NOT row MATCHES "^CAUSE\\([A-Z_]+, \"([^\"]+)\", \"([^\"]+)\", \"([^\"]+)\"\\)$")
		message(FATAL_ERROR "${INPUT}: not CAUSE(SYMBOL, \"name\", \"meaning\", \"action\"): ${row}")
	endif()
	string(APPEND text "\n${CMAKE_MATCH_1}: ${CMAKE_MATCH_2}. What to do: ${CMAKE_MATCH_3}\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
