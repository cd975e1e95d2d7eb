# `find_package(dlcost)` for other CMake projects: headers, one static library per folder, the device database.
include(CMakePackageConfigHelpers)
get_property(dlcost_libraries GLOBAL PROPERTY DLCOST_LIBRARIES)
install(TARGETS ${dlcost_libraries} dlcost_onnx_proto dlcost_exact EXPORT dlcostTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/dlcost)
install(TARGETS dlcost RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY estimator models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlcost FILES_MATCHING PATTERN "*.h")
install(DIRECTORY hw_specs DESTINATION ${CMAKE_INSTALL_DATADIR}/dlcost)
install(EXPORT dlcostTargets NAMESPACE dlcost:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlcost)
configure_package_config_file(cmake/dlcostConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/dlcostConfig.cmake"
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlcost)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/dlcostConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/dlcostConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/dlcostConfigVersion.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlcost)
