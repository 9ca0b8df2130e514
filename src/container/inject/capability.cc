#include "src/container/inject/capability.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::inject {
namespace {

using enum Capability;

constexpr std::array<std::pair<std::string_view, Capability>, 7> kWords = {{
    {"compute", kCompute},
    {"utility", kUtility},
    {"graphics", kGraphics},
    {"video", kVideo},
    {"display", kDisplay},
    {"ngx", kNgx},
    {"compat32", kCompat32},
}};

struct LibraryRow {
  std::string_view stem;  // file name up to ".so"
  CapabilitySet needed_by;
};

// By name. What is missing here is new: see CapabilitiesOfLibrary.
constexpr std::array<LibraryRow, 46> kLibraries = {{
    {"libEGL_nvidia", kGraphics},
    {"libGLESv1_CM_nvidia", kGraphics},
    {"libGLESv2_nvidia", kGraphics},
    {"libGLX_nvidia", kGraphics},
    {"libcuda", kCompute},
    {"libcudadebugger", kCompute},
    {"libglxserver_nvidia", kDisplay},
    {"libnvcuvid", kVideo},
    {"libnvidia-allocator", kCompute | kGraphics},
    {"libnvidia-api", kGraphics},
    {"libnvidia-cbl", kGraphics},
    {"libnvidia-cfg", kUtility},
    {"libnvidia-compiler", kCompute},
    {"libnvidia-compiler-next", kCompute},
    {"libnvidia-egl-gbm", kGraphics},
    {"libnvidia-egl-wayland", kGraphics},
    {"libnvidia-egl-wayland2", kGraphics},
    {"libnvidia-egl-xcb", kGraphics},
    {"libnvidia-egl-xlib", kGraphics},
    {"libnvidia-eglcore", kGraphics},
    {"libnvidia-encode", kVideo},
    {"libnvidia-fatbinaryloader", kCompute},
    {"libnvidia-fbc", kGraphics},
    {"libnvidia-glcore", kGraphics},
    {"libnvidia-glsi", kGraphics},
    {"libnvidia-glvkspirv", kGraphics},
    {"libnvidia-gpucomp", kCompute | kGraphics},
    {"libnvidia-gtk2", kDisplay},
    {"libnvidia-gtk3", kDisplay},
    {"libnvidia-ifr", kGraphics},
    {"libnvidia-ml", kUtility},
    {"libnvidia-ngx", kNgx},
    {"libnvidia-nvvm", kCompute},
    {"libnvidia-nvvm70", kCompute},
    {"libnvidia-opencl", kCompute},
    {"libnvidia-opticalflow", kVideo},
    {"libnvidia-pkcs11", kCompute},
    {"libnvidia-pkcs11-openssl3", kCompute},
    {"libnvidia-ptxjitcompiler", kCompute},
    {"libnvidia-rtcore", kGraphics},
    {"libnvidia-sandboxutils", kUtility},
    {"libnvidia-tls", kGraphics},
    {"libnvidia-vksc-core", kGraphics},
    {"libnvidia-wayland-client", kDisplay},
    {"libnvoptix", kGraphics},
    {"libvdpau_nvidia", kVideo},
}};
static_assert(std::ranges::is_sorted(kLibraries, {}, &LibraryRow::stem));

}  // namespace

StatusOr<CapabilitySet> ParseCapabilities(std::string_view text) {
  CapabilitySet set;
  const bool is_empty = text.find_first_not_of(", \t") == std::string_view::npos;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view word = Trim(part);
    if (word.empty() && !is_empty) {  // "compute,utility," of images
      continue;
    }
    if (word == "all") {
      set = set | kAllCapabilities;
      continue;
    }
    const auto* const row =
        std::ranges::find(kWords, word, &std::pair<std::string_view, Capability>::first);
    if (row == kWords.end()) {
      return InvalidArgument(
          "driver capability \"{}\" must be compute, utility, graphics, video, display, ngx, "
          "compat32 or all",
          Printable(word, 40));
    }
    set = set | row->second;
  }
  return set;
}

std::string ToString(CapabilitySet set) {
  std::string text;
  for (const auto& [word, capability] : kWords) {
    if (set.Has(capability)) {
      text += text.empty() ? "" : ",";
      text += word;
    }
  }
  return text;
}

CapabilitySet CapabilitiesOfLibrary(std::string_view file_name) {
  const std::string_view stem = file_name.substr(0, file_name.find(".so"));
  const auto* const row = std::ranges::lower_bound(kLibraries, stem, {}, &LibraryRow::stem);
  if (row != kLibraries.end() && row->stem == stem) {
    return row->needed_by;
  }
  return kCompute | kGraphics;
}

}  // namespace kgpu::inject
