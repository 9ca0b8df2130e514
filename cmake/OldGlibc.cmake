# kgpu_old_glibc(target): a program that needs the host's glibc starts with every release since 2.17.
# src/cmd/old_glibc.cc says how.
function(kgpu_old_glibc target)
  if(NOT KGPU_STATIC)
    return()
  endif()
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/cmd/old_glibc.cc)
  foreach(name dlopen dlsym dlerror pthread_create __libc_start_main)
    target_link_options(${target} PRIVATE -Wl,--wrap=${name})
  endforeach()
  # Where the functions were. A program that does not ask for these libraries finds them in libc.so.6
  # of new releases only.
  target_link_options(${target} PRIVATE -Wl,--push-state,--no-as-needed
    -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state)
endfunction()
