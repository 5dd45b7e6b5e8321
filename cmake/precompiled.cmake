# precompile_headers(TARGET [HEADERS...]): the standard headers that most sources include, and HEADERS,
# are compiled once for all sources of a target. They take half of a small source's time.
# For the sanitizers' builds alone: a precompiled header hides a missing include, and the others find it.
# Not where a launcher keeps objects: ccache, by default, keeps none that use a precompiled header.
function(precompile_headers target)
  if(RAMET_SANITIZE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <atomic> <condition_variable> <cstdint> <functional> <map> <memory> <mutex>
      <optional> <span> <string> <thread> <utility> <variant> <vector> ${ARGN})
  endif()
endfunction()
