# Writes version_stamp.h, which names the version and the commit, before each build; only lib/calls/version_info.cc includes it,
# and it is rewritten only when it changes. Without git, or outside a checkout, the commit is "unknown".
#
# Included, it sets up the target wdelta_stamp; run as a script (cmake -P), it is that target's command.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(WDELTA_STAMP_DIR ${PROJECT_BINARY_DIR}/stamp)
  add_custom_target(wdelta_stamp
    COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
            -D OUTPUT=${WDELTA_STAMP_DIR}/version_stamp.h -P ${CMAKE_CURRENT_LIST_FILE}
    BYPRODUCTS ${WDELTA_STAMP_DIR}/version_stamp.h
    COMMENT "Asking git for the commit")
  return()
endif()

set(COMMIT unknown)
find_program(GIT_PROGRAM git)
if(GIT_PROGRAM AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(
    COMMAND ${GIT_PROGRAM} --no-optional-locks -c safe.directory=${SOURCE_DIR}
            describe --always --dirty --abbrev=12 --match v[0-9]*
    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described ERROR_QUIET
    RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND described)
    set(COMMIT ${described})
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version_stamp.h.in ${OUTPUT} @ONLY)
