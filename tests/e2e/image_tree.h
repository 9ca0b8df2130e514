// Root file systems of several image families, made from this machine's busybox and C library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kgpu::e2e {

// The loader in the image searches /usr/lib/<multiarch> (Debian, Ubuntu), or /usr/lib64 (RHEL,
// SUSE); kMusl has no glibc at all.
enum class ImageFamily : uint8_t { kDebianLike, kRhelLike, kMusl };

// With `programs` of this build in /usr/bin, without ld.so.conf and ld.so.cache.
void MakeImageTree(const std::string& rootfs, ImageFamily family,
                   const std::vector<std::string>& programs);

}  // namespace kgpu::e2e
