// What shall be done to a host to bring NVIDIA's driver onto it, as a value: it prints as
// --dry-run, is kept in the journal, carried out step by step (carry_out.h) and taken back from
// the last step to the first.
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

// A file of the host that we write. What stood there before is kept by the journal and comes back.
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

// Packages by the host's own package manager. The journal notes which packages were there before,
// so that the way back removes exactly what came with these.
struct InstallPackages {
  // As the manager takes them: "nvidia-kernel-dkms"; of one version "x=535.1-1" (apt, zypper) and
  // "x-535.1" (dnf); below a version "x<536" (zypper).
  std::vector<std::string> names;
  // An installed package whose version, without what is added for a kernel or a release, all of
  // them are to have; empty: none. Of several of that name the newest.
  std::string version_of{};
  bool operator==(const InstallPackages&) const = default;
};

// Packages that give way: exactly these are taken off, their configuration stays, and nothing is
// done where others would go with them. The packages themselves are kept beside the journal, so
// that the way back has them whatever became of their archive.
struct RemovePackages {
  std::vector<std::string> names;
  // False: they are not kept, and the way back asks their archive for them.
  bool is_kept = true;
  bool operator==(const RemovePackages&) const = default;
};

// A command and what undoes it. `undo` without argv: nothing to take back; `command` without argv:
// something to do only when the plan is taken back.
struct RunCommand {
  Command command;
  Command undo;
  bool operator==(const RunCommand&) const = default;
};

// Units that are stopped here and started again by the last step (or when the plan is taken back).
struct StopUnits {
  std::vector<std::string> units;
  bool operator==(const StopUnits&) const = default;
};
struct StartUnits {
  std::vector<std::string> units;
  // Enabled as well, so that they start with the host: presets of some distributions leave what
  // packages bring disabled. Taken back: those that were not enabled before are so no more.
  bool at_boot = false;
  bool operator==(const StartUnits&) const = default;
};

struct LoadModules {
  std::vector<std::string> names;  // in the order of loading; unloading is the other way round
  bool operator==(const LoadModules&) const = default;
};
struct UnloadModules {
  std::vector<std::string> names;
  bool operator==(const UnloadModules&) const = default;
};

// The steps after this one need a fresh start of the host; a unit goes on with them then.
struct Reboot {
  std::string reason;
  bool operator==(const Reboot&) const = default;
};

// What only a person can do, at the machine ("confirm the key in MokManager"). The plan stops here
// until the state shows it done.
struct AskPerson {
  std::string text;
  std::string key{};  // the certificate that is enrolled then; empty: there is nothing to look at
  bool operator==(const AskPerson&) const = default;
};

// That the host is now as it should be: module built for this kernel, versions agree, libraries
// found, nodes there. What cannot be looked at below a foreign root is skipped and reported.
struct Verify {
  std::string version;  // of the driver, whole or a branch ("535"); empty: any
  std::string kernel;   // release the module must be there for
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
  // What it takes away that the way back may not bring again: "driver 535.183.01 of NVIDIA's
  // installer"; empty: nothing.
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
  kPrecompiled,   // modules that somebody built for this very kernel
};
inline constexpr std::array<std::string_view, 5> kSourceKinds = {
    "distribution", "nvidia", "runfile", "local-repo", "precompiled"};
std::string_view ToString(SourceKind kind);

// Whether a driver's version is the one that is wanted, which is whole or a branch: "580.95.05" is
// "580".
bool IsVersion(std::string_view version, std::string_view wanted);

struct Plan {
  std::string version;  // of the driver, whole or a branch: "535.309.01", "580"
  ModuleKind kind = ModuleKind::kOpen;
  SourceKind source = SourceKind::kDistribution;
  std::string kernel;              // release the module is for
  std::vector<std::string> why;    // the choice, a sentence each
  std::vector<std::string> notes;  // what the admin should know
  std::vector<Step> steps;
  bool operator==(const Plan&) const = default;
};

}  // namespace kgpu::driver
