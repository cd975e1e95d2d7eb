# `find_package(dlcost)` for other CMake projects: headers, one static library per folder, the device database.
include(CMakePackageConfigHelpers)
get_property(dlcost_libraries GLOBAL PROPERTY DLCOST_LIBRARIES)
set(dlcost_bundled dlcost_onnx_proto dlcost_exact)
if(TARGET dlcost_fmt)
  list(APPEND dlcost_bundled dlcost_fmt)
endif()
install(TARGETS ${dlcost_libraries} ${dlcost_bundled} EXPORT dlcostTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/dlcost)
install(TARGETS dlcost RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# What shells and man know of the program: written by it, when it is installed.
install(CODE "
  foreach(page IN ITEMS
          \"bash;bash-completion/completions/dlcost\" \"zsh;zsh/vendor-completions/_dlcost\"
          \"fish;fish/vendor_completions.d/dlcost.fish\" \"man;man/man1/dlcost.1\")
    list(GET page 0 what)
    list(GET page 1 where)
    set(words completion \${what})
    if(what STREQUAL man)
      set(words man)
    endif()
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/\${where}\")
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:dlcost>\" \${words} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT program)
install(DIRECTORY estimator models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlcost FILES_MATCHING PATTERN "*.h")
install(DIRECTORY include/dlcost DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE NOTICE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY hw_specs DESTINATION ${CMAKE_INSTALL_DATADIR}/dlcost COMPONENT program)
install(EXPORT dlcostTargets NAMESPACE dlcost:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlcost)
configure_package_config_file(cmake/dlcostConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/dlcostConfig.cmake"
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlcost)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/dlcostConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/dlcostConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/dlcostConfigVersion.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlcost)

# `pkg-config --cflags --libs dlcost`, for those without CMake.
set(DLCOST_PC_LIBRARIES "")
foreach(library ${dlcost_libraries} dlcost_onnx_proto)
  get_target_property(type ${library} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(APPEND DLCOST_PC_LIBRARIES " -l${library}")
  endif()
endforeach()
file(RELATIVE_PATH DLCOST_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/dlcost.pc.in "${CMAKE_CURRENT_BINARY_DIR}/dlcost.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/dlcost.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Packages of the program alone: `cpack -G DEB`, `cpack -G TGZ`.
set(CPACK_PACKAGE_VENDOR "dlcost")
set(CPACK_PACKAGE_CONTACT "dlcost")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};dlcost;program;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# Of the archive that a release has (scripts/get-program): dlcost-linux-x86_64.tar.gz.
string(TOLOWER "dlcost-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that it needs, by the packages that have them
include(CPack)
