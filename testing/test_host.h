// A small host with a driver in a temporary folder: just enough files for the code that searches
// for them. The complete simulated host is testing/simhost.
#pragma once

#include <string>
#include <string_view>

#include "testing/host_files.h"
#include "testing/temp_dir.h"

namespace kgpu {

class TestHost {
 public:
  static constexpr std::string_view kVersion = "535.104.05";

  const TempDir& dir() const { return dir_; }
  const std::string& path() const { return dir_.path(); }

  // <folder>/<stem>.so.<version> with SONAME <stem>.so.1, and the link of that name.
  void AddLibrary(const std::string& folder, const std::string& stem, uint16_t machine = kElfX8664,
                  std::string_view version = kVersion) const;
  // The libraries that every layout has: CUDA, NVML, the JIT compiler, OpenCL, encoding, GLX,
  // VDPAU.
  void AddUsualLibraries(const std::string& folder, uint16_t machine = kElfX8664) const;
  // An executable file.
  void AddProgram(const std::string& path) const;
  // /dev/nvidia<0…count-1>, nvidiactl, nvidia-uvm, nvidia-uvm-tools, nvidia-modeset. False if
  // creating nodes is not permitted (tests then skip).
  bool AddNodes(unsigned count) const;
  bool AddCapNode(unsigned minor) const;
  // A bound unix socket.
  void AddSocket(const std::string& path) const;

  // Debian: libraries in nvidia/current behind alternatives, found through ld.so.cache.
  void InstallDebian() const;
  // RHEL: everything in /usr/lib64, 32-bit libraries in /usr/lib.
  void InstallRhel() const;
  // Ubuntu for aarch64: libraries straight in the multiarch folder.
  void InstallUbuntuAarch64() const;

 private:
  TempDir dir_;
};

}  // namespace kgpu
