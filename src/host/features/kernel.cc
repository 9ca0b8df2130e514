// The kernel: version, configuration, modules, SELinux, KVM. Sources: /proc/sys/kernel/osrelease,
// /proc/config.gz and the places where distributions keep a kernel's ".config", /proc/modules,
// modules.builtin of kmod, /sys/fs/selinux, /sys/devices/virtual/misc/kvm.
#include <algorithm>

#include "src/host/features/kernel_config.h"
#include "src/host/features/kernel_version.h"
#include "src/host/features/source.h"
#include "src/platform/base/strings.h"
#include "src/platform/compress/unpack.h"

namespace kgpu::features {
namespace {

constexpr const char* kRelease = "proc/sys/kernel/osrelease";
// The largest distribution kernels have some 300 KiB of text, 80 of them compressed.
constexpr size_t kKernelConfigLimit = size_t{8} << 20;
constexpr size_t kModulesLimit = size_t{4} << 20;

const char* KernelClaim(bool is_so) {
  return is_so ? "true" : "false";
}

// In the order in which they are tried, which is NFD's.
std::vector<std::string> ConfigPlaces(const std::string& own, const std::string& release) {
  std::vector<std::string> places;
  if (!own.empty()) {
    places.push_back(own);
  }
  places.emplace_back("proc/config.gz");
  if (release.empty()) {
    places.emplace_back("usr/src/linux/.config");
    return places;
  }
  for (std::string place :
       {fmt::format("usr/src/linux-{}/.config", release),
        fmt::format("usr/src/linux-rt-{}/.config", release), std::string("usr/src/linux/.config"),
        fmt::format("usr/lib/modules/{}/config", release),
        fmt::format("usr/lib/ostree-boot/config-{}", release),
        fmt::format("usr/lib/kernel/config-{}", release),
        fmt::format("usr/src/linux-headers-{}/.config", release),
        fmt::format("lib/modules/{}/build/.config", release),
        fmt::format("usr/src/linux-rt-headers-{}/.config", release),
        fmt::format("boot/config-{}", release)}) {
    places.push_back(std::move(place));
  }
  return places;
}

StatusOr<std::string> ReadConfigText(const sys::Root& host, const std::string& path) {
  StatusOr<std::string> bytes = host.ReadFile(path, kKernelConfigLimit);
  if (!bytes.ok() || !path.ends_with(".gz")) {
    return bytes;
  }
  StatusOr<std::string> text = compress::Gunzip(*bytes, kKernelConfigLimit);
  return text.ok() ? std::move(text)
                   : StatusOr<std::string>(Annotate(text.status(), "{}", host.At(path)));
}

void ReadConfig(const Source& source, const std::string& release) {
  const std::string& own = source.options.kernel_config_file;
  const std::vector<std::string> places = ConfigPlaces(own, release);
  for (const std::string& place : places) {
    const StatusOr<std::string> text = ReadConfigText(source.host, place);
    if (text.ok()) {
      source.attributes("kernel.config") =
          source.options.has_whole_kernel_config
              ? ParseKernelConfig(*text)
              : FindKernelOptions(*text, source.options.kernel_config_options);
      return;
    }
    if (place == own || text.status().code() != StatusCode::kNotFound) {
      source.Complain("{}", Message(text.status()));
    }
  }
  source.Complain(
      "kernel-config labels are missing: no readable kernel configuration (searched {} and {} "
      "other "
      "paths): load the module \"configs\" or mount /boot below the root",
      source.host.At("proc/config.gz"), places.size() - 1);
}

using Names = std::vector<std::string_view>;

// "ib_uverbs 163840 2 rdma_ucm,mlx5_ib, Live 0x…": the first word of each line.
void AddLoaded(std::string_view text, Names& modules) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    if (!name.empty()) {
      modules.push_back(name);
    }
  }
}

// "kernel/drivers/block/loop.ko": the last part of each path.
void AddBuiltIn(std::string_view text, Names& modules) {
  constexpr std::string_view kSuffix = ".ko";
  for (const std::string_view line : Split(text, '\n')) {
    std::string_view path = Trim(line);
    if (path.ends_with(kSuffix)) {
      path.remove_suffix(kSuffix.size());
      modules.push_back(path.substr(path.rfind('/') + 1));
    }
  }
}

// Sorted first: each insertion is then at the set's end.
Flags MakeFlags(Names names) {
  std::ranges::sort(names);
  Flags flags;
  for (const std::string_view name : names) {
    flags.emplace_hint(flags.end(), name);
  }
  return flags;
}

void ReadModules(const Source& source, const std::string& release) {
  Names modules;
  const FileText loaded = ReadText(source.host, "proc/modules", kModulesLimit);
  if (loaded.ok()) {
    AddLoaded(loaded.text, modules);
    source.flags("kernel.loadedmodule") = MakeFlags(modules);
  } else {
    source.ComplainOf("proc/modules", loaded.error);  // a kernel without modules has none
  }
  if (release.empty()) {
    return;
  }
  const std::string path = fmt::format("lib/modules/{}/modules.builtin", release);
  FileText built_in = ReadText(source.host, path, kModulesLimit);
  if (built_in.is_missing()) {
    // A root without the link from /lib to /usr/lib, as some images show it.
    built_in = ReadText(source.host, "usr/" + path, kModulesLimit);
  }
  if (!built_in.ok()) {
    source.ComplainOf(path, built_in.error);
    return;  // half of the modules would be taken for all of them
  }
  AddBuiltIn(built_in.text, modules);
  source.flags("kernel.enabledmodule") = MakeFlags(std::move(modules));
}

}  // namespace

void ReadKernel(const Source& source) {
  const std::string release = source.Text(kRelease).value_or("");
  if (release.empty()) {
    source.Complain("{} is missing or empty: mount the host's /proc below the root",
                    source.host.At(kRelease));
  } else {
    source.attributes("kernel.version") = ParseKernelVersion(release);
  }
  // A release with "/" would lead elsewhere in the root.
  const bool is_name = release.find('/') == std::string::npos;
  ReadConfig(source, is_name ? release : "");
  ReadModules(source, is_name ? release : "");
  const bool enforces = source.Text("sys/fs/selinux/enforce").value_or("").starts_with('1');
  source.attributes("kernel.selinux")["enabled"] = KernelClaim(enforces);
  const bool has_kvm = source.host.Exists("sys/devices/virtual/misc/kvm");
  source.attributes("kernel.kvm")["enabled"] = KernelClaim(has_kvm);
}

}  // namespace kgpu::features
