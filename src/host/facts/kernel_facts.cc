#include "src/host/facts/kernel_facts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/gpu/cuda/version.h"
#include "src/host/facts/pci_facts.h"
#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/enrolled_keys.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::host {
namespace {

// What the kernel's build appends to a signed module. Source: scripts/sign-file.c of the kernel.
constexpr std::string_view kSigned = "~Module signature appended~\n";
constexpr std::string_view kSecureBoot =
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
// The last one is what a plan of the driver makes where there is no DKMS.
constexpr std::array<std::string_view, 3> kKeys = {
    "var/lib/shim-signed/mok/MOK.der", "var/lib/dkms/mok.pub", "var/lib/kgpu/signing/module.der"};
constexpr size_t kModulesDepLimit = size_t{16} << 20;

// "gcc-12" of "Linux version 6.1.0 (…) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld …) #1 SMP".
std::string BuiltBy(std::string_view version) {
  const size_t at = version.find("gcc-");
  if (at == std::string_view::npos) {
    return {};
  }
  const size_t end = version.find_first_not_of("0123456789", at + 4);
  return std::string(version.substr(at, end == std::string_view::npos ? end : end - at));
}

// Asks the host's own modinfo, which reads compressed modules, too.
std::optional<bool> IsSigned(Sight& sight, sys::ProgramRunner& runner, const std::string& file) {
  if (file.ends_with(".ko")) {
    const std::optional<std::string> tail = sight.Tail(file, kSigned.size());
    return tail ? std::optional<bool>(*tail == kSigned) : std::nullopt;
  }
  const std::string modinfo = sys::FindProgram(sight.host(), "modinfo");
  if (modinfo.empty()) {
    sight.Say(
        fmt::format("the signature of {}: it is compressed, and modinfo is not installed", file));
    return std::nullopt;
  }
  const StatusOr<sys::RunResult> result =
      runner.Run({.argv = {modinfo, file}, .root = sight.host().path()});
  if (!result.ok() || !result->IsSuccess()) {
    sight.Say(fmt::format("the signature of {}: it is compressed, and modinfo: {}", file,
                          result.ok() ? sys::Describe(*result) : Message(result.status())));
    return std::nullopt;
  }
  const std::vector<std::string_view> lines = Split(result->out, '\n');
  return std::ranges::any_of(lines, [](std::string_view line) {
    return line.starts_with("sig_id:") || line.starts_with("signer:");
  });
}

void ReadInstalled(Sight& sight, sys::ProgramRunner& runner, KernelFacts& facts) {
  const std::string folder = fmt::format("lib/modules/{}", facts.release);
  facts.has_module_folder = sight.host().Exists(folder);
  facts.has_headers = sight.host().Exists(folder + "/build/Makefile");
  const std::string list = sight.Text(folder + "/modules.dep", kModulesDepLimit).value_or("");
  for (const std::string_view line : Split(list, '\n')) {
    const std::string_view path = line.substr(0, line.find(':'));
    const std::string name = ModuleNameOf(path);
    if (IsDriverModule(name)) {
      facts.nvidia_file = fmt::format("/{}/{}", folder, path);
    }
    if (!name.empty()) {
      facts.installed.insert(name);
    }
  }
  if (!facts.nvidia_file.empty()) {
    facts.is_nvidia_signed = IsSigned(sight, runner, facts.nvidia_file);
  }
}

// Built ones before others, then the newer version.
bool IsBetter(const DkmsModule& one, const DkmsModule& other) {
  if (one.is_built != other.is_built) {
    return one.is_built;
  }
  const auto version = cuda::DriverVersion::Parse(one.version);
  const auto known = cuda::DriverVersion::Parse(other.version);
  return version.ok() && (!known.ok() || *known < *version);
}

void ReadDkms(Sight& sight, KernelFacts& facts) {
  for (const std::string& name : sight.Names("var/lib/dkms")) {
    const std::string folder = fmt::format("var/lib/dkms/{}", name);
    // nvidia-fs has sources there, too, with versions of its own.
    const bool is_driver = name.starts_with("nvidia") && name != "nvidia-fs";
    for (const std::string& version :
         is_driver ? sight.Names(folder) : std::vector<std::string>()) {
      if (IsDriverVersion(version)) {
        DkmsModule module{.name = name, .version = version};
        module.is_built =
            sight.host().Exists(fmt::format("{}/{}/{}", folder, version, facts.release));
        if (!facts.dkms || IsBetter(module, *facts.dkms)) {
          facts.dkms = std::move(module);
        }
      }
    }
  }
}

void ReadCompilers(Sight& sight, KernelFacts& facts) {
  const StatusOr<std::string> gcc = sight.host().Resolve("usr/bin/gcc");
  if (gcc.ok() && sight.host().Exists(*gcc)) {
    facts.gcc = gcc->substr(gcc->rfind('/') + 1);
    // "x86_64-linux-gnu-gcc-12" is what Debian's link leads to.
    if (const size_t at = facts.gcc.rfind("gcc-"); at != std::string::npos) {
      facts.gcc = facts.gcc.substr(at);
    }
  }
  for (const std::string& name : sight.Names("usr/bin")) {
    if (name.starts_with("gcc-") && ParseUint(std::string_view(name).substr(4))) {
      facts.gccs.insert(name);
    }
  }
}

// A variable's value follows four bytes of attributes. Source: efivarfs of the kernel.
void ReadSigning(Sight& sight, KernelFacts& facts) {
  if (const std::optional<std::string> value = sight.Text(kSecureBoot); value && !value->empty()) {
    facts.secure_boot = value->back() == 1;
  }
  facts.is_signature_enforced = sight.Line("sys/module/module/parameters/sig_enforce") == "Y";
  for (const std::string_view path : kKeys) {
    const std::optional<std::string> key = sight.Text(path);
    if (key && !key->empty()) {
      facts.key_file = fmt::format("/{}", path);
      facts.is_key_enrolled = IsKeyEnrolled(sight.host(), path);
      if (!facts.is_key_enrolled && facts.secure_boot.value_or(false)) {
        sight.Say(
            fmt::format("whether the firmware knows {}: MokListRT not found", facts.key_file));
      }
      return;
    }
  }
}

// "install nouveau /bin/false": nothing is done in place of loading it.
bool IsNothing(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "false" || name == "true" || name == ":";
}

// Source: modprobe.d(5).
void NoteLine(std::string_view line, const std::string& path, KernelFacts& facts) {
  const std::vector<std::string_view> words = Words(line);
  if (words.size() < 2) {
    return;
  }
  const std::string module = ModuleNameOf(words[1]);
  const bool is_nothing = words[0] == "install" && words.size() > 2 && IsNothing(words[2]);
  if (words[0] == "blacklist" || is_nothing) {
    facts.blacklist.push_back({path, std::string(words[0]), module});
  } else if (words[0] == "options" && module == "vfio_pci") {
    facts.guest_ids.merge(GuestIds(line));
  }
}

void ReadBlacklist(Sight& sight, KernelFacts& facts) {
  std::set<std::string> names;  // a file of /etc hides one of the same name elsewhere
  for (const std::string_view folder :
       {"etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d"}) {
    for (const std::string& name : sight.Names(folder)) {
      if (!name.ends_with(".conf") || !names.insert(name).second) {
        continue;
      }
      const std::string path = fmt::format("/{}/{}", folder, name);
      const std::string text = sight.Text(path).value_or("");
      for (const std::string_view line : Split(text, '\n')) {
        NoteLine(line, path, facts);
      }
    }
  }
}

}  // namespace

KernelFacts ReadKernelFacts(Sight& sight, sys::ProgramRunner& runner) {
  KernelFacts facts;
  facts.release = sight.Line("proc/sys/kernel/osrelease");
  facts.built_by = BuiltBy(sight.Line("proc/version"));
  facts.cmdline = sight.Line("proc/cmdline");
  facts.guest_ids = GuestIds(facts.cmdline);
  facts.is_loading_refused = sight.Line("proc/sys/kernel/modules_disabled") == "1";
  const std::string modules = sight.Text("proc/modules").value_or("");
  for (const KernelModule& module : ParseModules(modules)) {
    facts.loaded.insert(module.name);
  }
  if (!facts.release.empty()) {
    ReadInstalled(sight, runner, facts);
  }
  facts.kernels = ReadInstalledKernels(sight.host());
  ReadDkms(sight, facts);
  ReadCompilers(sight, facts);
  ReadSigning(sight, facts);
  ReadBlacklist(sight, facts);
  return facts;
}

}  // namespace kgpu::host
