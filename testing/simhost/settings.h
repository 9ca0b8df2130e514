// The settings of a simulated host: stored in its folder, so that it can be served again later.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "testing/simhost/host_view.h"

namespace kgpu::simhost {

// Paths below the host's folder that are ours, not the simulated host's.
inline constexpr std::string_view kOwnFolder = ".kgpu-sim";
inline constexpr std::string_view kSettingsFile = ".kgpu-sim/host.json";
inline constexpr std::string_view kManifestFile = ".kgpu-sim/tree";
inline constexpr std::string_view kProfileFile = ".kgpu-sim/profile.yaml";
inline constexpr std::string_view kModelsFolder = ".kgpu-sim/models";
inline constexpr std::string_view kLockFile = ".kgpu-sim/server.pid";
inline constexpr std::string_view kLogFile = ".kgpu-sim/server.log";

struct HostSettings {
  std::string profile;  // name, for people
  Distro distro = Distro::kDebian;
  Arch arch = Arch::kX86_64;
  bool has_32bit = false;
  std::string driver_version;  // at creation; empty: no driver
  uint64_t seed = 0;
  DynamicMajors majors;
  bool is_nouveau = false;  // nouveau holds the GPUs, no NVIDIA driver is installed
  Companions companions;
  std::string nvml_library;  // file of the simulated library on this machine; may be empty
};

std::string SettingsToJson(const HostSettings& settings);
// Errors: InvalidArgument, with file, field and value.
StatusOr<HostSettings> SettingsFromJson(std::string_view text, std::string_view file);

// "debian", "ubuntu", "rhel", "suse"; "x86_64", "aarch64".
std::string_view ToString(Distro distro);
std::string_view ToString(Arch arch);
// Errors: InvalidArgument, naming the known words.
StatusOr<Distro> ParseDistro(std::string_view text);
StatusOr<Arch> ParseArch(std::string_view text);

}  // namespace kgpu::simhost
