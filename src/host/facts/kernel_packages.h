// How packages of a kernel are named on a host: by the packages that are installed, since the text
// of a release does not tell who built it; where they do not tell either, as the distribution names
// its own kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/facts/distribution.h"
#include "src/host/facts/installed_packages.h"

namespace kgpu::host {

// The stem of an RPM kernel's packages, and the release as their names have it: "kernel-64k",
// "5.14.0-427.13.1.el9_4.aarch64" for 5.14.0-427.13.1.el9_4.aarch64+64k; "kernel-ml" for ELRepo's.
struct RpmKernel {
  std::string stem;
  std::string release;
};
RpmKernel RpmKernelOf(const Distribution& distribution, std::string_view release,
                      const Packages& packages);

// The package with the headers of kernel `release`: "linux-headers-6.1.0-18-amd64",
// "proxmox-headers-6.8.12-4-pve", "kernel-ml-devel-6.9.7-1.el9.elrepo.x86_64". For an
// unknown family as for Debian. Pure.
std::string HeadersPackage(const Distribution& distribution, std::string_view release,
                           const Packages& packages);

// The packages whose newest version brings the headers of the newest kernel, one for each installed
// package that brings this host its kernels: "linux-headers-amd64" for "linux-image-amd64",
// "proxmox-default-headers" for "proxmox-default-kernel". Empty: there is none. apt only. Pure.
std::vector<std::string> FollowingHeaders(std::string_view release, std::string_view flavour,
                                          const Packages& packages);

// Whether the release is numbered as Ubuntu numbers its own kernels, 6.8.0-1029-gke, and not as its
// builds of the mainline, 6.10.5-061005-generic, or others' kernels, 6.9.3-76060903-generic. Pure.
bool IsNumberedAsUbuntus(std::string_view release);

}  // namespace kgpu::host
