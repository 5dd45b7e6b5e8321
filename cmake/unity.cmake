# unify_by_folder(TARGET): where CMAKE_UNITY_BUILD is on, the sources of a folder are compiled up to eight
# at a time, which takes a third of the time: most of a small source's is for the headers of others. So
# what a source keeps to itself has a name of its own in the folder. Sources with options of their own
# stay apart, as CMake has it.
function(unify_by_folder target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    math(EXPR batch "${${folder}_count} + 0")
    math(EXPR ${folder}_count "${batch} + 1")
    math(EXPR batch "${batch} / 8")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  # GCC takes an included source for a header, whose classes should have no members of unnamed namespaces.
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)
endfunction()
