# dlcost_page(<target> <directory>): embeds the files of the HTML report in the target.
function(dlcost_page target directory)
  set(scripts base dots roofs roofline details icicle memory table compare profile sweep picture main)
  file(READ "${directory}/page.html" html)
  file(READ "${directory}/page.css" style)
  set(script "")
  foreach(name ${scripts})
    file(READ "${directory}/${name}.js" text)
    string(APPEND script "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${directory}/${name}.js")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               "${directory}/page.html" "${directory}/page.css")
  string(CONCAT content
    "#include \"estimator/report/page_assets.h\"\n\nnamespace dlcost {\n"
    "const char* const kPageHtml = R\"page(" "${html}" ")page\";\n"
    "const char* const kPageStyle = R\"page(" "${style}" ")page\";\n"
    "const char* const kPageScript = R\"page(" "${script}" ")page\";\n"
    "}  // namespace dlcost\n")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/page_assets.cc")
  set(old "")
  if(EXISTS "${output}")
    file(READ "${output}" old)
  endif()
  if(NOT old STREQUAL content)
    file(WRITE "${output}" "${content}")
  endif()
  target_sources(${target} PRIVATE "${output}")
  # Long texts: clang warns of what every compiler in use takes.
  set_source_files_properties("${output}" PROPERTIES COMPILE_OPTIONS
                              "$<$<CXX_COMPILER_ID:Clang>:-Wno-overlength-strings>")
endfunction()
