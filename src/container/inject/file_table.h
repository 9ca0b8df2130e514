// The driver's files other than libraries: where they are on hosts and which capability needs them.
#pragma once

#include <array>
#include <string_view>

#include "src/container/inject/capability.h"

namespace kgpu::inject {

// A program: searched in every folder of kProgramFolders, placed in /usr/bin in containers.
struct ProgramRow {
  std::string_view name;
  CapabilitySet needed_by;
};

inline constexpr std::array<std::string_view, 7> kProgramFolders = {
    "usr/bin",
    "usr/sbin",
    "bin",  // GKE's folder, roots in /opt
    "sbin",
    "usr/local/bin",  // Talos
    "run/opengl-driver/bin",
    "run/current-system/sw/bin",  // NixOS
};

inline constexpr std::array<ProgramRow, 9> kPrograms = {{
    {"nv-fabricmanager", Capability::kUtility},
    {"nvidia-cuda-mps-control", Capability::kCompute},
    {"nvidia-cuda-mps-server", Capability::kCompute},
    {"nvidia-debugdump", Capability::kUtility},
    {"nvidia-imex", Capability::kCompute},
    {"nvidia-imex-ctl", Capability::kCompute},
    {"nvidia-persistenced", Capability::kUtility},
    {"nvidia-smi", Capability::kUtility},
    {"nvidia-xconfig", Capability::kDisplay},
}};

// Files of one folder by prefix and suffix of their names; containers see them at the same path.
// "{}" in the folder stands for the driver's version.
struct FileRow {
  std::string_view folder;
  std::string_view prefix;
  std::string_view suffix;
  CapabilitySet needed_by;
};

inline constexpr std::array<FileRow, 19> kFiles = {{
    // Firmware of the GPU's system processor (GSP). Only one of the two exists, or one links to the
    // other.
    {"lib/firmware/nvidia/{}", "gsp", ".bin", Capability::kUtility},
    {"usr/lib/firmware/nvidia/{}", "gsp", ".bin", Capability::kUtility},
    {"etc/OpenCL/vendors", "nvidia", ".icd", Capability::kCompute},
    {"etc/glvnd/egl_vendor.d", "10_nvidia", ".json", Capability::kGraphics},
    {"usr/share/glvnd/egl_vendor.d", "10_nvidia", ".json", Capability::kGraphics},
    {"etc/egl/egl_external_platform.d", "", ".json", Capability::kGraphics},
    {"usr/share/egl/egl_external_platform.d", "", ".json", Capability::kGraphics},
    {"etc/vulkan/icd.d", "nvidia_", ".json", Capability::kGraphics},
    {"etc/vulkan/implicit_layer.d", "nvidia_", ".json", Capability::kGraphics},
    {"usr/share/vulkan/icd.d", "nvidia_", ".json", Capability::kGraphics},
    {"usr/share/vulkan/implicit_layer.d", "nvidia_", ".json", Capability::kGraphics},
    {"usr/share/vulkansc/icd.d", "nvidia_", ".json", Capability::kGraphics},
    {"usr/share/nvidia", "nvidia-application-profiles-", "", Capability::kGraphics},
    {"usr/share/nvidia", "nvoptix", ".bin", Capability::kGraphics},
    {"usr/share/X11/xorg.conf.d", "nvidia-drm-outputclass", ".conf", Capability::kDisplay},
    {"usr/share/X11/xorg.conf.d", "10-nvidia", ".conf", Capability::kDisplay},
    {"usr/lib/xorg/modules/drivers", "nvidia_drv", ".so", Capability::kDisplay},
    {"usr/lib64/xorg/modules/drivers", "nvidia_drv", ".so", Capability::kDisplay},
    {"usr/lib/nvidia", "nvidia_drv", ".so", Capability::kDisplay},  // Debian
}};

// Sockets of the driver's daemons.
struct SocketRow {
  std::string_view path;
  CapabilitySet needed_by;
};

inline constexpr std::array<SocketRow, 2> kSockets = {{
    {"run/nvidia-fabricmanager/socket", Capability::kCompute},
    {"run/nvidia-persistenced/socket", Capability::kCompute | Capability::kUtility},
}};

}  // namespace kgpu::inject
