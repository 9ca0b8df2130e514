#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

unsigned BranchOf(const HostView& host) {
  return static_cast<unsigned>(
      ParseUint(host.library_version.substr(0, host.library_version.find('.'))).value_or(0));
}

std::string Script(const HostView& host, std::string_view name) {
  return fmt::format(
      "#!/bin/sh\necho '{}: a stand-in of a simulated host (driver {}); it does "
      "nothing'\n",
      name, host.library_version);
}

void AddProgram(const HostView& host, const std::string& path, std::string_view name, Tree& tree) {
  if (name == "nvidia-cuda-mps-control" && host.mps_program != nullptr &&
      host.arch == Arch::kX86_64) {
    tree.SharedFile(path, host.mps_program, 0755);
    return;
  }
  tree.File(path, Script(host, name), 0755);
}

void AddPrograms(const HostView& host, Tree& tree) {
  // Programs that Debian's alternatives switch together with the driver branch.
  for (const std::string_view name :
       {"nvidia-smi", "nvidia-debugdump", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"}) {
    if (host.distro != Distro::kDebian) {
      AddProgram(host, fmt::format("usr/bin/{}", name), name, tree);
      continue;
    }
    const std::string folder =
        fmt::format("usr/lib/nvidia/{}", BranchOf(host) == 470 ? "tesla-470" : "current");
    AddProgram(host, fmt::format("{}/{}", folder, name), name, tree);
    tree.Link(fmt::format("usr/bin/{}", name), fmt::format("/etc/alternatives/nvidia--{}", name));
    tree.Link(fmt::format("etc/alternatives/nvidia--{}", name),
              fmt::format("/{}/{}", folder, name));
  }
  for (const std::string_view name :
       {"nvidia-persistenced", "nvidia-modprobe", "nvidia-bug-report.sh", "nvidia-xconfig",
        "nvidia-settings"}) {
    tree.File(fmt::format("usr/bin/{}", name), Script(host, name), 0755);
  }
  if (!host.nvswitches.empty()) {
    tree.File("usr/bin/nv-fabricmanager", Script(host, "nv-fabricmanager"), 0755);
    tree.Folder("run/nvidia-fabricmanager");
  }
  if (BranchOf(host) >= 550) {
    tree.File("usr/bin/nvidia-imex", Script(host, "nvidia-imex"), 0755);
    tree.File("usr/bin/nvidia-imex-ctl", Script(host, "nvidia-imex-ctl"), 0755);
  }
}

// A firmware image for the GPU System Processor; real ones are some 20 to 40 MB.
void AddFirmware(const HostView& host, Tree& tree) {
  const std::string folder = fmt::format("usr/lib/firmware/nvidia/{}", host.library_version);
  const std::string image(4096, '\0');
  if (BranchOf(host) < 510) {
    tree.File(folder + "/gsp.bin", image);
    return;
  }
  tree.File(folder + "/gsp_tu10x.bin", image);
  tree.File(folder + (BranchOf(host) >= 530 ? "/gsp_ga10x.bin" : "/gsp_ad10x.bin"), image);
}

std::string IcdJson(std::string_view object, std::string_view library) {
  return fmt::format(
      "{{\n    \"file_format_version\" : \"1.0.0\",\n    \"{}\" : {{\n"
      "        \"library_path\" : \"{}\"\n    }}\n}}\n",
      object, library);
}

void AddConfiguration(const HostView& host, Tree& tree) {
  tree.File("usr/share/glvnd/egl_vendor.d/10_nvidia.json", IcdJson("ICD", "libEGL_nvidia.so.0"));
  tree.File("usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
            IcdJson("ICD", "libnvidia-egl-wayland.so.1"));
  if (BranchOf(host) >= 495) {
    tree.File("usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
              IcdJson("ICD", "libnvidia-egl-gbm.so.1"));
  }
  const std::string vulkan =
      host.distro == Distro::kUbuntu || host.distro == Distro::kDebian ? "usr/share" : "etc";
  tree.File(vulkan + "/vulkan/icd.d/nvidia_icd.json",
            "{\n    \"file_format_version\" : \"1.0.0\",\n    \"ICD\": {\n"
            "        \"library_path\": \"libGLX_nvidia.so.0\",\n"
            "        \"api_version\" : \"1.3.242\"\n    }\n}\n");
  tree.File(vulkan + "/vulkan/implicit_layer.d/nvidia_layers.json",
            "{\n    \"file_format_version\" : \"1.0.0\",\n    \"layers\": []\n}\n");
  tree.File("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n");
  if (BranchOf(host) >= 525) {
    tree.File("usr/share/nvidia/nvoptix.bin", std::string(1024, '\0'));
  }
  tree.File(fmt::format("usr/share/nvidia/nvidia-application-profiles-{}-rc", host.library_version),
            "{ \"rules\" : [], \"profiles\" : [] }\n");
  tree.File("usr/share/X11/xorg.conf.d/10-nvidia.conf",
            "Section \"OutputClass\"\n    Identifier \"nvidia\"\n    MatchDriver \"nvidia-drm\"\n"
            "    Driver \"nvidia\"\nEndSection\n");
}

}  // namespace

void PlanPrograms(const HostView& host, Tree& tree) {
  if (host.companions.has_gds) {
    tree.File("etc/cufile.json", "{\n    \"logging\": { \"level\": \"ERROR\" }\n}\n");
  }
  AddPrograms(host, tree);
  AddFirmware(host, tree);
  AddConfiguration(host, tree);
}

}  // namespace kgpu::simhost
