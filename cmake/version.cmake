# Writes OUTPUT, a C file that holds the version of what is built, when it changes:
#   cmake -DSOURCE=... -DOUTPUT=... -DPROJECT_VERSION=0.2.0 -P version.cmake
# In a source package: the text of the file VERSION. In a checkout: the tag v0.2.0 as "0.2.0", 17 commits later
# "0.2.0-17-gabc1234"; without a tag, commits are counted from the one that last set the project's version. Changed files
# add "-dirty". Elsewhere: the project's version.
set(version ${PROJECT_VERSION})
function(git out)
	execute_process(COMMAND git -C ${SOURCE} ${ARGN} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE code
		OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(NOT code EQUAL 0)
		set(text "")
	endif()
	set(${out} "${text}" PARENT_SCOPE)
endfunction()

if(EXISTS ${SOURCE}/VERSION)
	file(STRINGS ${SOURCE}/VERSION version LIMIT_COUNT 1)
elseif(EXISTS ${SOURCE}/.git)
	git(described describe --tags --match v[0-9]* --abbrev=7)
	git(commit rev-parse --short=7 HEAD)
	git(changed status --porcelain --untracked-files=no)
	if(described)
		string(REGEX REPLACE "^v" "" version ${described})
	elseif(commit)
		git(since log -1 --format=%H "-Gproject.gpuproof VERSION" -- CMakeLists.txt)
		git(count rev-list --count ${since}..HEAD)
		set(version ${PROJECT_VERSION}-${count}-g${commit})
	endif()
	if(changed)
		string(APPEND version -dirty)
	endif()
endif()

set(text "#include \"result/host/build.h\"\n\nconst char build_commit[] = \"${version}\";\n")
set(old "")
if(EXISTS ${OUTPUT})
	file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
	file(WRITE ${OUTPUT} "${text}")
endif()
