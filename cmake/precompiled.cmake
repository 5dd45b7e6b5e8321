# precompile_headers(TARGET [HEADERS...]): the standard headers that most sources include, and HEADERS,
# are compiled once for all sources of a target. They take half of a small source's time.
# A precompiled header hides a missing include, as unity builds do: `make test-includes` finds it.
# Not where a launcher keeps objects: ccache, by default, keeps none that use a precompiled header.
function(precompile_headers target)
  if(RAMET_TESTS AND CMAKE_UNITY_BUILD AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <atomic> <condition_variable> <cstdint> <functional> <map> <memory> <mutex>
      <optional> <span> <string> <thread> <utility> <variant> <vector> ${ARGN})
  endif()
endfunction()
