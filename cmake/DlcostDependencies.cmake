# Debian packages; scripts/packages lists their names.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_path(CSV_INCLUDE_DIR csv.h REQUIRED)  # libcsv
find_library(CSV_LIBRARY csv REQUIRED)

# GMP: exact rationals of formulas.
find_path(GMP_INCLUDE_DIR gmpxx.h REQUIRED)
find_library(GMP_LIBRARY gmp REQUIRED)
find_library(GMPXX_LIBRARY gmpxx REQUIRED)
add_library(dlcost_exact INTERFACE)
target_include_directories(dlcost_exact SYSTEM INTERFACE ${GMP_INCLUDE_DIR})
target_link_libraries(dlcost_exact INTERFACE ${GMPXX_LIBRARY} ${GMP_LIBRARY})

# Debian's libonnx-dev ships no usable CMake config. Only the messages are linked: the operator
# schemas of libonnx register thousands of objects at start-up, and dlcost has its own.
find_path(ONNX_INCLUDE_DIR onnx/onnx_pb.h REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
add_library(dlcost_onnx_proto INTERFACE)
target_include_directories(dlcost_onnx_proto SYSTEM INTERFACE ${ONNX_INCLUDE_DIR})
target_compile_definitions(dlcost_onnx_proto INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
target_link_libraries(dlcost_onnx_proto INTERFACE ${ONNX_PROTO_LIBRARY} protobuf::libprotobuf)

# Rebuilds of unchanged files cost nothing where ccache is installed.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without this sloppiness ccache keeps its hands off sources with precompiled headers.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
