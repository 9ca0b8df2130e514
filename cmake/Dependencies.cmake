# Debian's libraries as targets. Everything that can be linked static is: the products must run on
# hosts older than the build host (docs/architecture.md, "Programs").

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)

# Debian's absl:: targets are the shared libraries; these are the archives.
pkg_check_modules(ABSL REQUIRED absl_statusor absl_cleanup)
add_library(kgpu_absl INTERFACE)
add_library(kgpu::absl ALIAS kgpu_absl)
target_link_options(kgpu_absl INTERFACE)
list(TRANSFORM ABSL_STATIC_LIBRARIES PREPEND "-l:lib" OUTPUT_VARIABLE kgpu_absl_archives)
list(TRANSFORM kgpu_absl_archives APPEND ".a")
list(FILTER kgpu_absl_archives EXCLUDE REGEX "lib(m|rt|pthread|dl)\\.a")
list(JOIN kgpu_absl_archives "," kgpu_absl_group)
target_link_libraries(kgpu_absl INTERFACE
  -Wl,--start-group,${kgpu_absl_group},--end-group Threads::Threads)

# Debian has fmt as a shared library or as headers. The static programs cannot use the first, and
# the second costs every source file a second: its code is compiled once, here.
add_library(kgpu_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt_library.cc)
add_library(kgpu::fmt ALIAS kgpu_fmt)

add_library(kgpu_json INTERFACE)
add_library(kgpu::json ALIAS kgpu_json)
target_link_libraries(kgpu_json INTERFACE -l:libboost_json.a -l:libboost_container.a)

add_library(kgpu_yaml INTERFACE)
add_library(kgpu::yaml ALIAS kgpu_yaml)
target_link_libraries(kgpu_yaml INTERFACE -l:libyaml-cpp.a)

# Headers alone: its shared library would be one more that the static programs cannot use.
pkg_check_modules(TOMLPLUSPLUS REQUIRED tomlplusplus)
add_library(kgpu_toml INTERFACE)
add_library(kgpu::toml ALIAS kgpu_toml)

# Comes with gRPC.
add_library(kgpu_re2 INTERFACE)
add_library(kgpu::re2 ALIAS kgpu_re2)
target_link_libraries(kgpu_re2 INTERFACE -l:libre2.a Threads::Threads)

add_library(kgpu_cli11 INTERFACE)
add_library(kgpu::cli11 ALIAS kgpu_cli11)
target_link_libraries(kgpu_cli11 INTERFACE CLI11::CLI11)

add_library(kgpu_zlib INTERFACE)
add_library(kgpu::zlib ALIAS kgpu_zlib)
target_link_libraries(kgpu_zlib INTERFACE -l:libz.a)

add_library(kgpu_zstd INTERFACE)
add_library(kgpu::zstd ALIAS kgpu_zstd)
target_link_libraries(kgpu_zstd INTERFACE -l:libzstd.a)

add_library(kgpu_openssl INTERFACE)
add_library(kgpu::openssl ALIAS kgpu_openssl)
target_link_libraries(kgpu_openssl INTERFACE -l:libssl.a -l:libcrypto.a Threads::Threads)

# HTTP/2's frames and header compression.
add_library(kgpu_nghttp2 INTERFACE)
add_library(kgpu::nghttp2 ALIAS kgpu_nghttp2)
target_link_libraries(kgpu_nghttp2 INTERFACE -l:libnghttp2.a)

# The queue of asynchronous calls on disk.
add_library(kgpu_sqlite INTERFACE)
add_library(kgpu::sqlite ALIAS kgpu_sqlite)
target_link_libraries(kgpu_sqlite INTERFACE -l:libsqlite3.a -lm -ldl Threads::Threads)

# Names to addresses, without the system's resolver, which a static program cannot use.
add_library(kgpu_cares INTERFACE)
add_library(kgpu::cares ALIAS kgpu_cares)
target_link_libraries(kgpu_cares INTERFACE -l:libcares.a Threads::Threads)

if(CMAKE_CROSSCOMPILING)
  # Tests run on the machine they are built on. Libraries that only they use are never built.
  add_library(GTest::gmock INTERFACE IMPORTED)
else()
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()
