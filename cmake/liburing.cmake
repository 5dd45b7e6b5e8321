# LIBURING: the static library liburing (Debian: liburing-dev), with LIBURING_INCLUDE_DIR. Empty where
# it is not there, or cannot be linked into a module that Python loads: then threads read rows.
option(RAMET_IO_URING "Read rows of files by io_uring, where liburing is" ON)
if(RAMET_IO_URING)
  include(CheckCXXSourceCompiles)
  find_path(LIBURING_INCLUDE_DIR liburing.h)
  find_library(LIBURING_LIBRARY liburing.a)
  mark_as_advanced(LIBURING_INCLUDE_DIR LIBURING_LIBRARY)
  if(LIBURING_INCLUDE_DIR AND LIBURING_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${LIBURING_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${LIBURING_LIBRARY})
    set(CMAKE_REQUIRED_FLAGS "-fPIC -shared")
    check_cxx_source_compiles("
      #include <liburing.h>
      int probe() {
        io_uring ring;
        io_uring_params params{};
        params.flags = IORING_SETUP_R_DISABLED;
        return io_uring_queue_init_params(1, &ring, &params) + io_uring_enable_rings(&ring) +
               io_uring_submit_and_wait(&ring, 1);
      }" LIBURING_LINKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
    unset(CMAKE_REQUIRED_FLAGS)
  endif()
endif()
set(LIBURING)
if(RAMET_IO_URING AND LIBURING_LINKS)
  set(LIBURING ${LIBURING_LIBRARY})
endif()
