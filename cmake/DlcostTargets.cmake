add_library(dlcost_options INTERFACE)
target_compile_features(dlcost_options INTERFACE cxx_std_20)
target_compile_options(dlcost_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Werror;-Wshadow;-Wnon-virtual-dtor;-Wold-style-cast;-Wcast-qual;-Wunused>
  # Designated initialisers name what they set; the rest is meant to be the default.
  $<BUILD_INTERFACE:-Wno-missing-field-initializers>
  # Types that a source defines may hold those of its unnamed namespace; of joined sources GCC thinks that they are headers.
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>>
  # GCC 12 reports a false overlap in std::string (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651).
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>
  # The same for bounds, once it optimizes code behind a precompiled header; the sanitizers look after those.
  $<BUILD_INTERFACE:$<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>>)
if(DLCOST_SANITIZE)
  # "undefined" leaves out casts of reals that the integer cannot hold.
  set(DLCOST_SANITIZERS -fsanitize=address,undefined,float-cast-overflow
      -fno-sanitize-recover=undefined,float-cast-overflow -fno-omit-frame-pointer)
  if(DLCOST_BUILD_FUZZ)
    list(APPEND DLCOST_SANITIZERS -fsanitize=fuzzer-no-link)
  endif()
  # Line numbers are enough for a sanitizer's report and halve the time to compile.
  target_compile_options(dlcost_options INTERFACE ${DLCOST_SANITIZERS} -g1)
  target_link_options(dlcost_options INTERFACE ${DLCOST_SANITIZERS})
endif()

# Common headers are precompiled with GCC, which halves the time to build; its precompiled headers do not mind
# differing definitions and warnings, clang's do.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
# dlcost_common_headers(<name> <compile option> <headers>...): a target that others REUSE_FROM.
function(dlcost_common_headers name option)
  file(WRITE "${CMAKE_BINARY_DIR}/${name}.cc.in" "// An empty source that the precompiled headers belong to.\n")
  configure_file("${CMAKE_BINARY_DIR}/${name}.cc.in" "${CMAKE_BINARY_DIR}/${name}.cc" COPYONLY)
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/${name}.cc")
  target_link_libraries(${name} PRIVATE dlcost_options fmt::fmt)
  # Libraries are built as -fPIC, executables as -fPIE, and a precompiled header is for one of them.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE ${option})
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
dlcost_common_headers(dlcost_common -fPIC "${PROJECT_SOURCE_DIR}/cmake/common_headers.h")
if(DLCOST_BUILD_TESTS)
  find_package(GTest REQUIRED)
  dlcost_common_headers(dlcost_common_tests -fPIE "${PROJECT_SOURCE_DIR}/cmake/common_headers.h"
                        <gtest/gtest.h> <gmock/gmock.h>)
  target_link_libraries(dlcost_common_tests PRIVATE GTest::gtest GTest::gmock)
endif()

# Under sanitizers libraries run a fifth as long where the compiler optimizes a little, and take two to three times as
# long to compile. The tests save more than that, but not in those that are wide and that few tests go through.
set(DLCOST_WIDE_LIBRARIES dlcost_api dlcost_calibrate dlcost_cli dlcost_compare dlcost_picture dlcost_profile_report
    dlcost_regress dlcost_report dlcost_request dlcost_sweep)

# dlcost_library(<name> [PUBLIC libs...] [PRIVATE libs...])
# One library per folder from the folder's *.cc files, so that the link lists enforce the direction of flow.
function(dlcost_library name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:dlcost_options> ${ARG_PRIVATE})
    target_include_directories(${name} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dlcost>)
    target_compile_features(${name} PUBLIC cxx_std_20)
    target_precompile_headers(${name} REUSE_FROM dlcost_common)
    if(NOT name IN_LIST DLCOST_WIDE_LIBRARIES)
      target_compile_options(${name} PRIVATE $<$<AND:$<BOOL:${DLCOST_SANITIZE}>,$<CONFIG:Debug>>:-O1>)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_PUBLIC})
  endif()
  string(REPLACE "dlcost_" "" export_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${export_name})
  add_library(dlcost::${export_name} ALIAS ${name})
  set_property(GLOBAL APPEND PROPERTY DLCOST_LIBRARIES ${name})
endfunction()

# dlcost_test(<folder> libs...): every tests/<folder>/*.cc in one program, one ctest entry with the label `unit`.
function(dlcost_test folder)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" target "test_${folder}")
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${ARGN} dlcost_options GTest::gtest GTest::gmock GTest::gtest_main fmt::fmt)
  target_compile_options(${target} PRIVATE -Wno-conversion)
  target_precompile_headers(${target} REUSE_FROM dlcost_common_tests)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE DLCOST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES LABELS unit)
endfunction()

# dlcost_fuzzer(<name> <source> libs...): a libFuzzer target; only built with DLCOST_BUILD_FUZZ.
function(dlcost_fuzzer name source)
  if(DLCOST_BUILD_FUZZ)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${ARGN} dlcost_options)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  endif()
endfunction()
