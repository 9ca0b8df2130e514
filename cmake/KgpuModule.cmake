# Most of the time of a compilation goes into headers: sources of one target are compiled several at a
# time. Names in unnamed namespaces are therefore unique within a module and within a test program.
# clang-tidy, and whoever looks for missing includes, turn it off.
option(KGPU_UNITY "Compile the sources of a target several at a time" ON)

# kgpu_units(out target SIZE source…): sets `out` to what is compiled in place of the sources. CMake's
# own unity builds name them by absolute paths, with which a clone in another folder finds nothing in
# the compiler's cache. Generated sources, and those with definitions of their own, stay alone.
function(kgpu_units out target size)
  set(units "")
  set(number 0)
  set(count 0)
  set(text "")
  foreach(source IN LISTS ARGN)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${path})
    get_source_file_property(definitions ${path} COMPILE_DEFINITIONS)
    get_source_file_property(is_generated ${path} GENERATED)
    if(NOT KGPU_UNITY OR definitions OR is_generated)
      list(APPEND units ${source})
      continue()
    endif()
    string(APPEND text "#include \"${relative}\"\n")
    math(EXPR count "${count} + 1")
    if(count EQUAL size)
      list(APPEND units ${CMAKE_CURRENT_BINARY_DIR}/units/${target}_${number}.cc)
      file(CONFIGURE OUTPUT units/${target}_${number}.cc CONTENT "${text}" @ONLY)
      math(EXPR number "${number} + 1")
      set(count 0)
      set(text "")
    endif()
  endforeach()
  if(count GREATER 0)
    list(APPEND units ${CMAKE_CURRENT_BINARY_DIR}/units/${target}_${number}.cc)
    file(CONFIGURE OUTPUT units/${target}_${number}.cc CONTENT "${text}" @ONLY)
  endif()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# Counters alone make the modules' unit tests slower by little and a build by a tenth. Tracing
# comparisons, which finds magic numbers sooner, is for long runs: the preset fuzz.
set(kgpu_fuzz_options -fsanitize-coverage=inline-8bit-counters,pc-table)
if(KGPU_FUZZ_COMPARISONS)
  set(kgpu_fuzz_options -fsanitize=fuzzer-no-link)
endif()

# g++ takes a source that is included for a header, whose classes others could see.
set(kgpu_unit_options $<$<AND:$<BOOL:${KGPU_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)

# kgpu_module(name [COLD | HOT] SRCS a.cc … PUBLIC dep… PRIVATE dep…)
#   Static library kgpu_<name>, alias kgpu::<name>. A dependency is PUBLIC only when a header of the
#   module shows it. COLD: what it does waits for people, disks or other programs, so that it is made
#   small instead of fast: a third to a half of its code. HOT: a benchmark shows that -O2 is worth it.
function(kgpu_module name)
  cmake_parse_arguments(M "COLD;HOT" "" "SRCS;PUBLIC;PRIVATE" ${ARGN})
  string(REPLACE "-" "_" target kgpu_${name})
  kgpu_units(units ${target} 12 ${M_SRCS})
  add_library(${target} STATIC ${units})
  add_library(kgpu::${name} ALIAS ${target})
  target_link_libraries(${target} PUBLIC kgpu::options ${M_PUBLIC} PRIVATE ${M_PRIVATE})
  target_compile_options(${target} PRIVATE ${kgpu_unit_options})
  if(M_COLD AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -Os)
  endif()
  if(M_HOT AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O2)
  endif()
  if(M_HOT)
    set_property(GLOBAL APPEND PROPERTY kgpu_hot ${target})
  endif()
  if(KGPU_FUZZ)
    # Coverage for libFuzzer in every module, not only in the targets.
    target_compile_options(${target} PRIVATE ${kgpu_fuzz_options})
  endif()
endfunction()

# kgpu_embed(out DIR folder PATTERNS "*.yaml *.json" HEADER h FUNCTION chart::ChartFiles): sets `out` to a source
#   with that function, which the header declares: std::span<const EmbeddedFile>, sorted by path.
function(kgpu_embed out)
  cmake_parse_arguments(E "" "DIR;PATTERNS;HEADER;FUNCTION" "" ${ARGN})
  string(REGEX REPLACE "^.*::" "" name "${E_FUNCTION}")
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${name}.embedded.cc)
  string(REPLACE " " ";" patterns "${E_PATTERNS}")
  list(TRANSFORM patterns PREPEND "${E_DIR}/")
  file(GLOB_RECURSE files FOLLOW_SYMLINKS CONFIGURE_DEPENDS ${patterns})
  list(FILTER files EXCLUDE REGEX "__pycache__")
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DDIR=${E_DIR} -DOUT=${made} "-DPATTERNS=${E_PATTERNS}" -DHEADER=${E_HEADER}
      -DFUNCTION=${E_FUNCTION} -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake ${files}
    VERBATIM)
  set(${out} ${made} PARENT_SCOPE)
endfunction()

# kgpu_program(name SRCS main.cc DEPS dep…): a program that ships (static when KGPU_STATIC is on).
function(kgpu_program name)
  cmake_parse_arguments(M "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${M_SRCS})
  target_link_libraries(${name} PRIVATE kgpu::options ${M_DEPS})
  if(KGPU_STATIC)
    # gRPC's archives name getaddrinfo, which a static program cannot use well; ours only ever
    # connects by paths. The linker would warn of it in every build.
    # Relative relocations packed: a million bytes less. Nothing but the program itself reads them.
    target_link_options(${name} PRIVATE -static-pie -s -Wl,--no-warnings
      -Wl,-z,pack-relative-relocs)
  endif()
endfunction()

# Unit tests work in memory where there is room: those that interrupt a program at every write wait
# for the disk at each. Tests of real engines need a real disk, and devices that can be opened.
set(kgpu_memory_folder "")
if(EXISTS /dev/shm)
  execute_process(COMMAND df --output=avail -k /dev/shm OUTPUT_VARIABLE free ERROR_QUIET)
  string(REGEX MATCH "[0-9]+" free "${free}")
  if(free AND free GREATER 2000000)
    set(kgpu_memory_folder /dev/shm)
  endif()
endif()

# What scripts/test.sh and .ci/run build. Every test program is in one of the first two; hot-tests are
# the unit tests of modules that are HOT: the only ones whose code the optimiser changes much.
add_custom_target(unit-tests)
add_custom_target(end-to-end-tests)
add_custom_target(hot-tests)

# kgpu_test(name [THREADED] SRCS a_test.cc … DEPS dep… [LABELS l…] [TIMEOUT s] [SHARDS n]
#           [LOCK name])
#   One GoogleTest program; each of its tests is a ctest of its own. In a build with a sanitizer, whose
#   programs take long to start, the whole program is one, in random order: SHARDS of them where it
#   runs for minutes. THREADED: the tests, or what they test, have a second thread, so that
#   ThreadSanitizer has something to find in them. LOCK: tests with the same one take turns.
#   Sanitizers are for unit tests: end-to-end tests run what ships.
function(kgpu_test name)
  cmake_parse_arguments(M "THREADED" "TIMEOUT;SHARDS;LOCK" "SRCS;DEPS;LABELS" ${ARGN})
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  if(NOT M_TIMEOUT)
    set(M_TIMEOUT 300)  # of a busy machine: what takes a second may take a minute
  endif()
  kgpu_units(units ${name}_test 10 ${M_SRCS})
  add_executable(${name}_test ${units})
  target_compile_options(${name}_test PRIVATE ${kgpu_unit_options})
  kgpu_link_fast(${name}_test)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # The code under test is optimised; optimising GoogleTest's templates only costs build time.
    target_compile_options(${name}_test PRIVATE -O0 -U_FORTIFY_SOURCE)
  endif()
  target_link_libraries(${name}_test PRIVATE kgpu::options ${M_DEPS} kgpu::testing GTest::gmock
    GTest::gmock_main)
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY
    ${CMAKE_BINARY_DIR}/tests)
  if((KGPU_SANITIZE AND "e2e" IN_LIST M_LABELS) OR
     (KGPU_SANITIZE STREQUAL "thread" AND NOT M_THREADED AND NOT KGPU_TSAN_ALL))
    set_target_properties(${name}_test PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  get_property(hot GLOBAL PROPERTY kgpu_hot)
  if("kgpu_${name}" IN_LIST hot)
    add_dependencies(hot-tests ${name}_test)
    list(APPEND M_LABELS hot)
  endif()
  if("e2e" IN_LIST M_LABELS)
    add_dependencies(end-to-end-tests ${name}_test)
  else()
    add_dependencies(unit-tests ${name}_test)
  endif()
  if(KGPU_SANITIZE)
    kgpu_whole_program(${name} "${M_SHARDS}" "${M_LABELS}")
    return()
  endif()
  set(properties TIMEOUT ${M_TIMEOUT} SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  if(kgpu_memory_folder AND NOT "e2e" IN_LIST M_LABELS)
    list(APPEND properties ENVIRONMENT TMPDIR=${kgpu_memory_folder})
  endif()
  if(M_LOCK)
    list(APPEND properties RESOURCE_LOCK ${M_LOCK})
  endif()
  if(M_LABELS)
    # An empty value would be dropped, and the next property taken for it.
    list(APPEND properties LABELS ${M_LABELS})
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
    PROPERTIES ${properties})
endfunction()

# kgpu_whole_program(name shards labels): the test program as one ctest, or as several of about the
# same number of tests. Its output has the seed of the order, and names the tests that failed.
function(kgpu_whole_program name shards labels)
  if(NOT shards)
    set(shards 1)
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(shards GREATER 1)
      set(test ${name}.${shard})
    endif()
    set(environment GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${shard})
    if(kgpu_memory_folder)
      list(APPEND environment TMPDIR=${kgpu_memory_folder})
    endif()
    add_test(NAME ${test} COMMAND ${name}_test --gtest_shuffle)
    # Long programs start first.
    set_tests_properties(${test} PROPERTIES TIMEOUT 900 COST ${shards} LABELS "unit;${labels}"
      ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# kgpu_fuzzer(name SRCS name_fuzzer.cc DEPS dep…)
#   A test that replays fuzz/corpus/<name>. With KGPU_FUZZ it is a libFuzzer program, which
#   scripts/fuzz.sh runs on; else a small main. Not under ThreadSanitizer: readers have no threads.
function(kgpu_fuzzer name)
  cmake_parse_arguments(M "" "" "SRCS;DEPS" ${ARGN})
  if(KGPU_SANITIZE STREQUAL "thread" OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(corpus ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  if(KGPU_FUZZ)
    set(program ${name}_fuzzer)
    add_executable(${program} ${M_SRCS})
    target_compile_options(${program} PRIVATE ${kgpu_fuzz_options})
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_test(NAME FuzzCorpus.${name} COMMAND ${program} -runs=0 -timeout=5 ${corpus})
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${program})
  else()
    set(program ${name}_replay)
    add_executable(${program} ${M_SRCS} ${PROJECT_SOURCE_DIR}/fuzz/replay_main.cc)
    kgpu_link_fast(${program})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME FuzzCorpus.${name} COMMAND ${program} ${corpus})
    add_dependencies(unit-tests ${program})
  endif()
  target_link_libraries(${program} PRIVATE kgpu::options ${M_DEPS})
  set_tests_properties(FuzzCorpus.${name} PROPERTIES TIMEOUT 300)
endfunction()
