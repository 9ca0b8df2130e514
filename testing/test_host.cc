#include "testing/test_host.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <stdexcept>

namespace kgpu {
namespace {

constexpr unsigned kNvidiaMajor = 195;
constexpr unsigned kUvmMajor = 509;
constexpr unsigned kCapsMajor = 237;

constexpr std::array<std::string_view, 7> kUsual = {
    "libcuda",          "libnvidia-ml",  "libnvidia-ptxjitcompiler", "libnvidia-opencl",
    "libnvidia-encode", "libGLX_nvidia", "libnvidia-newpart",
};

std::string SonameOf(std::string_view stem) {
  return fmt::format("{}.so.{}", stem, stem == "libGLX_nvidia" ? 0 : 1);
}

}  // namespace

void TestHost::AddLibrary(const std::string& folder, const std::string& stem, uint16_t machine,
                          std::string_view version) const {
  const std::string name = fmt::format("{}.so.{}", stem, version);
  const std::string soname = SonameOf(stem);
  ElfImage image;
  image.machine = machine;
  image.soname = soname;
  dir_.WriteFile(folder + "/" + name, MakeElf(image));
  dir_.Symlink(name, folder + "/" + soname);
}

void TestHost::AddUsualLibraries(const std::string& folder, uint16_t machine) const {
  for (const std::string_view stem : kUsual) {
    AddLibrary(folder, std::string(stem), machine);
  }
  AddLibrary(folder + "/vdpau", "libvdpau_nvidia", machine);
}

void TestHost::AddProgram(const std::string& path) const {
  dir_.WriteFile(path, "#!/bin/sh\n");
  (void)chmod(dir_.At(path).c_str(), 0755);
}

bool TestHost::AddNodes(unsigned count) const {
  for (unsigned minor = 0; minor < count; ++minor) {
    if (!dir_.MakeCharDevice("dev/nvidia" + std::to_string(minor), kNvidiaMajor, minor)) {
      return false;
    }
  }
  return dir_.MakeCharDevice("dev/nvidiactl", kNvidiaMajor, 255) &&
         dir_.MakeCharDevice("dev/nvidia-modeset", kNvidiaMajor, 254) &&
         dir_.MakeCharDevice("dev/nvidia-uvm", kUvmMajor, 0) &&
         dir_.MakeCharDevice("dev/nvidia-uvm-tools", kUvmMajor, 1);
}

bool TestHost::AddCapNode(unsigned minor) const {
  return dir_.MakeCharDevice("dev/nvidia-caps/nvidia-cap" + std::to_string(minor), kCapsMajor,
                             minor);
}

void TestHost::AddSocket(const std::string& path) const {
  dir_.MakeDir(path.substr(0, path.rfind('/')));
  const std::string whole = dir_.At(path);
  if (mknod(whole.c_str(), S_IFSOCK | 0600, 0) != 0) {
    throw std::runtime_error("mknod " + whole);
  }
}

void TestHost::InstallDebian() const {
  const std::string folder = "usr/lib/x86_64-linux-gnu";
  AddUsualLibraries(folder + "/nvidia/current");
  std::vector<CacheLine> lines;
  lines.reserve(kUsual.size());
  for (const std::string_view stem : kUsual) {
    const std::string soname = SonameOf(stem);
    const std::string link = fmt::format("/etc/alternatives/nvidia--{}", soname);
    dir_.Symlink(fmt::format("/{}/nvidia/current/{}", folder, soname), link);
    dir_.Symlink(link, fmt::format("{}/{}", folder, soname));
    lines.push_back({soname, fmt::format("/{}/{}", folder, soname)});
  }
  dir_.WriteFile("etc/ld.so.cache", MakeLdCache(lines));
  AddProgram("usr/lib/nvidia/current/nvidia-smi");
  dir_.Symlink("/usr/lib/nvidia/current/nvidia-smi", "etc/alternatives/nvidia--nvidia-smi");
  dir_.Symlink("/etc/alternatives/nvidia--nvidia-smi", "usr/bin/nvidia-smi");
  AddProgram("usr/bin/nvidia-cuda-mps-control");
  dir_.WriteFile("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n");
  dir_.WriteFile("usr/share/vulkan/icd.d/nvidia_icd.json", "{}");
  dir_.WriteFile("usr/lib/firmware/nvidia/535.104.05/gsp_ga10x.bin", "");
  dir_.WriteFile("usr/lib/firmware/nvidia/535.104.05/gsp_tu10x.bin", "");
  dir_.Symlink("usr/lib", "lib");
  AddSocket("run/nvidia-persistenced/socket");
}

void TestHost::InstallRhel() const {
  AddUsualLibraries("usr/lib64");
  AddUsualLibraries("usr/lib", kElfI386);
  AddProgram("usr/bin/nvidia-smi");
  dir_.WriteFile("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n");
  dir_.WriteFile("etc/vulkan/icd.d/nvidia_icd.x86_64.json", "{}");
  dir_.WriteFile("usr/share/glvnd/egl_vendor.d/10_nvidia.json", "{}");
  dir_.WriteFile("usr/share/glvnd/egl_vendor.d/50_mesa.json", "{}");
}

void TestHost::InstallUbuntuAarch64() const {
  AddUsualLibraries("usr/lib/aarch64-linux-gnu", kElfAarch64);
  AddProgram("usr/bin/nvidia-smi");
}

}  // namespace kgpu
