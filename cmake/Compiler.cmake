# Warnings, hardening, sanitizers, linker: one place for every target.

add_library(kgpu_options INTERFACE)
add_library(kgpu::options ALIAS kgpu_options)

target_compile_options(kgpu_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Wformat=2 -Werror
  -ffunction-sections -fdata-sections)
target_compile_definitions(kgpu_options INTERFACE _GLIBCXX_ASSERTIONS)
target_include_directories(kgpu_options INTERFACE ${PROJECT_SOURCE_DIR})
target_link_options(kgpu_options INTERFACE -Wl,--gc-sections -Wl,-z,relro,-z,now)

# Position independent everywhere: the same objects serve programs and shared objects.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# -O2 takes a fifth more of the time of a build. Modules whose benchmarks gain by it are HOT.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(kgpu_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
    -fstack-protector-strong)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 takes the assignment of a literal to a std::string for an overlapping copy (its bug
  # 105651).
  target_compile_options(kgpu_options INTERFACE -Wno-restrict)
  # Its garbage collector is an eighth of a build. It starts at 400 MB now: a unit takes 0.9 GB at most.
  add_compile_options(--param=ggc-min-heapsize=400000 --param=ggc-min-expand=200)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # KGPU_LOG and fmt consume format strings that clang cannot see are literals.
  # libstdc++ 12 uses a function of its own that it has deprecated (std::stable_sort).
  target_compile_options(kgpu_options INTERFACE -Wthread-safety -Wno-format-nonliteral
    -Wno-deprecated-declarations)
endif()

option(KGPU_LINES "Line numbers in the reports of sanitizers; a build takes a sixth longer" OFF)
if(KGPU_SANITIZE)
  add_compile_options(-fsanitize=${KGPU_SANITIZE} -fno-omit-frame-pointer $<IF:$<BOOL:${KGPU_LINES}>,-g1,-g0>)
  add_link_options(-fsanitize=${KGPU_SANITIZE})
  if(KGPU_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Fences, which ThreadSanitizer does not know, order memory shared with other processes only.
    target_compile_options(kgpu_options INTERFACE -Wno-tsan)
  endif()
  if(KGPU_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

find_program(KGPU_CCACHE ccache)
if(KGPU_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KGPU_CCACHE})
endif()

find_program(KGPU_MOLD mold)
if(KGPU_MOLD AND NOT KGPU_STATIC)
  add_link_options(-fuse-ld=mold)
endif()

# kgpu_link_fast(target): what does not ship is linked by mold, in a tenth of the time.
function(kgpu_link_fast target)
  if(KGPU_MOLD AND KGPU_STATIC)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
endfunction()

# No check_pie_supported(): the -pie it adds would undo the programs' -static-pie. Debian's compiler
# makes position-independent programs by itself.
