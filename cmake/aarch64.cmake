# Builds for 64-bit Arm with what scripts/fetch_cross.sh has unpacked. Programs of the build (protoc,
# its plugin) are this machine's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(kgpu_cross ${CMAKE_CURRENT_LIST_DIR}/../build/cross/aarch64)
get_filename_component(kgpu_cross ${kgpu_cross} ABSOLUTE)
set(CMAKE_SYSROOT ${kgpu_cross}/sysroot)
set(CMAKE_CXX_COMPILER ${kgpu_cross}/tools/usr/bin/aarch64-linux-gnu-g++-12)
# kgpu prints its own manual pages and completions.
set(CMAKE_CROSSCOMPILING_EMULATOR ${kgpu_cross}/qemu/usr/bin/qemu-aarch64)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
