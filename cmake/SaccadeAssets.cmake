# The web page (web/) and the sample pictures (examples/) become the static library saccade_assets: one object file
# that the assembler fills from the files themselves (.incbin), so nothing generated is large or committed.
file(GLOB_RECURSE web_files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/web/*")
file(GLOB example_files CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/examples/*.png" "${CMAKE_CURRENT_SOURCE_DIR}/examples/*.jpg"
  "${CMAKE_CURRENT_SOURCE_DIR}/examples/*.webp" "${CMAKE_CURRENT_SOURCE_DIR}/examples/questions.json")
list(FILTER web_files INCLUDE REGEX "\\.(html|css|js|svg|png|ico|webmanifest)$")

set(blocks "")
set(externs "")
set(entries "")
set(index 0)
foreach(path IN LISTS web_files example_files)
  file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${path}")
  string(APPEND blocks
    "SACCADE_EMBED(${index}, R\"path(${path})path\")\n")
  string(APPEND externs
    "HIDDEN extern const char saccade_file_${index}[], saccade_file_${index}_end[];\n")
  string(APPEND entries
    "    {R\"path(${name})path\", {saccade_file_${index}, static_cast<size_t>(saccade_file_${index}_end - saccade_file_${index})}},\n")
  math(EXPR index "${index} + 1")
endforeach()
set(SACCADE_EMBED_BLOCKS "${blocks}")
set(SACCADE_EMBED_EXTERNS "${externs}")
set(SACCADE_EMBED_ENTRIES "${entries}")
set(embedded_source "${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cc")
configure_file("${CMAKE_CURRENT_LIST_DIR}/embedded_files.cc.in" "${embedded_source}" @ONLY)
set_source_files_properties("${embedded_source}" PROPERTIES OBJECT_DEPENDS "${web_files};${example_files}")

add_library(saccade_assets STATIC "${embedded_source}")
target_link_libraries(saccade_assets PRIVATE saccade_options)
