// What to do on a host to install NVIDIA's driver, as a value: it prints as --dry-run, is stored
// in the journal, carried out step by step (carry_out.h) and reverted from the last step to the
// first.
#pragma once

#include <sys/types.h>
#include <array>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kgpu::driver {

// A program of the host, found below its root; no shell.
struct Command {
  std::vector<std::string> argv;         // argv[0] absolute: "/usr/bin/apt-get"
  std::vector<std::string> environment;  // "NAME=value" besides the runner's own
  std::chrono::seconds deadline{600};
  bool operator==(const Command&) const = default;
};

// A file on the host that we write. The journal keeps what was there before, and restores it.
struct WriteFile {
  std::string path;
  std::string text;
  mode_t mode = 0644;
  bool operator==(const WriteFile&) const = default;
};

struct RemoveFile {
  std::string path;
  bool operator==(const RemoveFile&) const = default;
};

// Packages, by the host's package manager. The journal records which packages were there before, so
// that reverting removes exactly those that came with these.
struct InstallPackages {
  // In the manager's form: "nvidia-kernel-dkms"; with a version "x=535.1-1" (apt, zypper) and
  // "x-535.1" (dnf); below a version "x<536" (zypper).
  std::vector<std::string> names;
  // An installed package whose version, without suffixes for a kernel or release, all of them must
  // have; empty: none. The newest if there are several of that name.
  std::string version_of{};
  bool operator==(const InstallPackages&) const = default;
};

// Packages that are removed: exactly these; their configuration stays, and nothing happens if
// others would be removed with them. Reverting installs them again, in their versions.
struct RemovePackages {
  std::vector<std::string> names;
  // Reverting stops if they cannot be installed again; false: it reports them and continues.
  bool must_return = true;
  bool operator==(const RemovePackages&) const = default;
};

// A command and its inverse. `undo` without argv: nothing to revert; `command` without argv: only
// does something when the plan is reverted.
struct RunCommand {
  Command command;
  Command undo;
  bool operator==(const RunCommand&) const = default;
};

// Units that are stopped here and started again by the last step (or by reverting the plan).
struct StopUnits {
  std::vector<std::string> units;
  bool operator==(const StopUnits&) const = default;
};
struct StartUnits {
  std::vector<std::string> units;
  // Also enables them, so that they start at boot: presets of some distributions disable what
  // packages install. Reverting disables those that were not enabled before.
  bool at_boot = false;
  bool operator==(const StartUnits&) const = default;
};

struct LoadModules {
  std::vector<std::string> names;  // in loading order; unloading reverses it
  bool operator==(const LoadModules&) const = default;
};
struct UnloadModules {
  std::vector<std::string> names;
  bool operator==(const UnloadModules&) const = default;
};

// The steps after this one need a restart of the host; then a unit continues with them.
struct Reboot {
  std::string reason;
  bool operator==(const Reboot&) const = default;
};

// What only a person can do, at the machine ("confirm the key in MokManager"). The plan stops here
// until the state shows that it is done.
struct AskPerson {
  std::string text;
  std::string key{};  // the certificate that is enrolled then; empty: cannot be checked
  bool operator==(const AskPerson&) const = default;
};

// Verifies the host: module built for this kernel, versions match, libraries found, nodes present.
// What cannot be checked below a foreign root is skipped and reported.
struct Verify {
  std::string version;  // of the driver, whole or a branch ("535"); empty: any
  std::string kernel;   // the release that must have the module
  bool operator==(const Verify&) const = default;
};

using Action =
    std::variant<RunCommand, WriteFile, RemoveFile, InstallPackages, StopUnits, StartUnits,
                 UnloadModules, LoadModules, Reboot, AskPerson, Verify, RemovePackages>;

struct Step {
  std::string id;      // "nouveau-off", unique in a plan, the same in every run
  std::string title;   // for people: "keep nouveau from being loaded"
  std::string source;  // the documentation page this follows
  Action action;
  // What it removes that reverting may not restore: "driver 535.183.01 of NVIDIA's installer";
  // empty: nothing.
  std::string loses{};
  bool operator==(const Step&) const = default;
};

enum class ModuleKind : uint8_t { kOpen, kProprietary };
inline constexpr std::array<std::string_view, 2> kModuleKinds = {"open", "proprietary"};
std::string_view ToString(ModuleKind kind);

// Where the driver comes from.
enum class SourceKind : uint8_t {
  kDistribution,  // the distribution's own packages
  kNvidia,        // NVIDIA's package repository
  kRunFile,       // a .run file of the driver or of CUDA
  kLocalRepo,     // a .deb or .rpm that is a repository
  kPrecompiled,   // modules prebuilt for exactly this kernel
};
inline constexpr std::array<std::string_view, 5> kSourceKinds = {
    "distribution", "nvidia", "runfile", "local-repo", "precompiled"};
std::string_view ToString(SourceKind kind);

// Whether a driver's version is the wanted one, which is full or a branch: "580.95.05" matches
// "580".
bool IsVersion(std::string_view version, std::string_view wanted);

struct Plan {
  std::string version;  // of the driver, whole or a branch: "535.309.01", "580"
  ModuleKind kind = ModuleKind::kOpen;
  SourceKind source = SourceKind::kDistribution;
  std::string kernel;              // the module's release
  std::vector<std::string> why;    // reasons for the choice, one sentence each
  std::vector<std::string> notes;  // what the admin should know
  std::vector<Step> steps;
  bool operator==(const Plan&) const = default;
};

}  // namespace kgpu::driver
