# Debian packages; scripts/packages lists their names.

# Rebuilds of unchanged files cost nothing where ccache is installed.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without this sloppiness ccache keeps its hands off sources with precompiled headers.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# A program that holds all of its libraries starts in a fraction of the time, because nothing is looked up, and runs
# on any Linux of its processor. Debian's archives are not position-independent: a shared library cannot hold them.
option(DLCOST_STATIC "Link the program statically" OFF)
if(DLCOST_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(Protobuf_USE_STATIC_LIBS ON)
  # Debian's libfmt-dev has no archive, but the sources that one is made of.
  find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
  add_library(dlcost_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_archive.cc")
  target_include_directories(dlcost_fmt SYSTEM PUBLIC $<BUILD_INTERFACE:${FMT_INCLUDE_DIR}>)
  target_compile_features(dlcost_fmt PUBLIC cxx_std_20)
  add_library(fmt::fmt ALIAS dlcost_fmt)
else()
  find_package(fmt REQUIRED)
endif()
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_path(CSV_INCLUDE_DIR csv.h REQUIRED)  # libcsv
find_library(CSV_LIBRARY csv REQUIRED)
if(DLCOST_STATIC)
  find_library(YAML_CPP_ARCHIVE yaml-cpp REQUIRED)
  get_target_property(configurations yaml-cpp IMPORTED_CONFIGURATIONS)
  foreach(configuration ${configurations})
    set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION_${configuration} "${YAML_CPP_ARCHIVE}")
  endforeach()
endif()

# GMP: exact rationals of formulas.
find_path(GMP_INCLUDE_DIR gmpxx.h REQUIRED)
find_library(GMP_LIBRARY gmp REQUIRED)
find_library(GMPXX_LIBRARY gmpxx REQUIRED)
add_library(dlcost_exact INTERFACE)
target_include_directories(dlcost_exact SYSTEM INTERFACE ${GMP_INCLUDE_DIR})
target_link_libraries(dlcost_exact INTERFACE ${GMPXX_LIBRARY} ${GMP_LIBRARY})

# ONNX's messages, compiled from the onnx.proto of Debian's libonnx-dev: its libraries would have to be there where
# dlcost runs, and those of the operator schemas register thousands of objects at start-up. dlcost has its own.
find_path(ONNX_INCLUDE_DIR onnx/onnx.proto REQUIRED)
set(messages "${PROJECT_BINARY_DIR}/onnx_proto")
file(MAKE_DIRECTORY "${messages}")
# Now, not while building: clang-tidy and editors want the header of a tree that is only configured.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ONNX_INCLUDE_DIR}/onnx/onnx.proto")
if("${ONNX_INCLUDE_DIR}/onnx/onnx.proto" IS_NEWER_THAN "${messages}/onnx/onnx.pb.h")
  execute_process(COMMAND "${Protobuf_PROTOC_EXECUTABLE}" "--proto_path=${ONNX_INCLUDE_DIR}" "--cpp_out=${messages}"
                          onnx/onnx.proto COMMAND_ERROR_IS_FATAL ANY)
endif()
add_library(dlcost_onnx_proto STATIC "${messages}/onnx/onnx.pb.cc" "${messages}/onnx/onnx.pb.h")
target_include_directories(dlcost_onnx_proto SYSTEM PUBLIC $<BUILD_INTERFACE:${messages}>)
target_compile_definitions(dlcost_onnx_proto INTERFACE ONNX_NAMESPACE=onnx)
target_link_libraries(dlcost_onnx_proto PUBLIC protobuf::libprotobuf-lite)
