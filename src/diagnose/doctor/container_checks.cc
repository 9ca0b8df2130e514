// How containers get their GPUs: engines, CDI, cgroups, limits.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr Bytes kEnoughLocked = MebiBytes(64);
constexpr std::string_view kGenerate = "kgpu cdi generate   # kgpu agent does this automatically";

// Without a driver that runs there is nothing to hand out yet.
bool IsReady(const Facts& facts) {
  return facts.has_gpus() && facts.driver.is_nvidia_live;
}

void NoEngine(const Facts& facts, Findings& findings) {
  // Also before there is a driver: kgpu node up installs none on a host that needs an engine first.
  if (facts.has_gpus() && facts.containers.engines.empty()) {
    findings.Add("docker, containerd, CRI-O and podman are not installed",
                 {facts.containers.install});
  }
}

void EngineStopped(const Facts& facts, Findings& findings) {
  for (const EngineFacts& one : facts.containers.engines) {
    const engine::Engine& engine = one.engine;
    if (!IsReady(facts) || engine.kind == engine::Kind::kPodman || engine.daemon ||
        !engine.is_daemon_known) {
      continue;
    }
    std::string evidence = fmt::format("{} is installed but not running", engine.Name());
    std::vector<std::string> fix = {one.start};
    if (!engine.unit.empty()) {
      fix.push_back(fmt::format("journalctl -u {} -n 50", engine.unit));
    }
    if (engine.is_spare) {
      findings.AddInfo(std::move(evidence), {"# only if it should run", fix[0]});
    } else {
      findings.Add(std::move(evidence), std::move(fix));
    }
  }
}

// Found in an engine's files, whether the engine runs or not.
bool IsOfFiles(const Finding& finding) {
  constexpr std::array<std::string_view, 6> kIds = {"config-broken",     "config-refused",
                                                    "runtime-missing",   "runtime-broken",
                                                    "injection-missing", "injection-broken"};
  return std::ranges::find(kIds, finding.id) != kIds.end();
}

void ConfigBroken(const Facts& facts, Findings& findings) {
  for (const EngineFacts& one : facts.containers.engines) {
    for (const Finding& finding : one.findings) {
      if (!IsOfFiles(finding)) {
        continue;
      }
      std::string evidence = fmt::format("{}: {}", one.engine.Name(), finding.message);
      if (one.engine.is_spare) {
        findings.AddWarning(std::move(evidence), finding.fix.commands);
      } else {
        findings.Add(std::move(evidence), finding.fix.commands);
      }
    }
  }
}

// Problems of the CDI files are reported once, by their own checks.
void NoWay(const Facts& facts, Findings& findings) {
  if (!IsReady(facts) || !facts.containers.is_cdi_ok()) {
    return;
  }
  for (const EngineFacts& one : facts.containers.engines) {
    if (one.engine.kind != engine::Kind::kPodman && !one.engine.daemon) {
      continue;
    }
    for (const Finding& finding : one.findings) {
      if (finding.severity != Severity::kInfo && !IsOfFiles(finding)) {
        findings.Add(finding.message, finding.fix.commands);
      }
    }
  }
}

bool HasRuntime(const EngineFacts& one, std::string_view name) {
  for (const std::string_view line : Split(one.settings, '\n')) {
    if (!Trim(line).starts_with('#') && line.find(name) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// GPUs come by a runtime that needs no CDI file.
bool HasOtherWay(const EngineFacts& one) {
  return HasRuntime(one, "nvidia-container-runtime") || HasRuntime(one, "kgpu-runtime");
}

void NoSpec(const Facts& facts, Findings& findings) {
  if (!IsReady(facts) || facts.containers.has_gpu_spec || !facts.containers.broken_specs.empty()) {
    return;
  }
  constexpr std::string_view kEvidence = "no file in /etc/cdi or /var/run/cdi declares a GPU";
  const auto other = std::ranges::find_if(facts.containers.engines, HasOtherWay);
  if (other == facts.containers.engines.end()) {
    findings.Add(std::string(kEvidence), {std::string(kGenerate)});
  } else {
    findings.AddInfo(fmt::format("{}; {} provides them through a runtime instead", kEvidence,
                                 other->engine.Name()),
                     {std::string(kGenerate)});
  }
}

// A GPU file written by kgpu or nvidia-ctk: both name it after the kind. Other files, such as those
// of network cards, must not be removed.
bool IsOfGpus(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("nvidia") || name.starts_with("kgpu");
}

void BrokenSpec(const Facts& facts, Findings& findings) {
  for (const SpecFinding& spec : facts.containers.broken_specs) {
    if (spec.is_newer) {
      findings.AddInfo(spec.text, {"# use engines that support this version: update kgpu"});
    } else if (IsOfGpus(spec.path)) {
      findings.Add(spec.text, {fmt::format("rm {}", spec.path), std::string(kGenerate)});
    } else {
      findings.Add(spec.text,
                   {fmt::format("# regenerate it with the tool that wrote {}", spec.path)});
    }
  }
}

// A driver that lacks nothing that a CDI file would name. What it lacks has checks of its own, and
// only after their fixes can a file be generated that fits.
bool IsDriverWhole(const Facts& facts) {
  const host::DriverFacts& driver = facts.driver;
  const auto has = [&facts](std::string_view name) {
    return facts.devices.names.contains(std::string(name));
  };
  const auto nodes =
      static_cast<size_t>(std::ranges::count_if(facts.devices.names, [](const std::string& name) {
        return host::NumberedNode(name, "nvidia").has_value();
      }));
  const bool agrees = driver.module_version.empty() ||
                      std::ranges::find(driver.library_versions, driver.module_version) !=
                          driver.library_versions.end();
  return agrees && driver.missing_libraries.empty() && facts.install.files.failed.empty() &&
         has("nvidiactl") && (has("nvidia-uvm") || !driver.is_uvm_loaded) &&
         nodes >= facts.devices.gpu_count;
}

void StaleSpec(const Facts& facts, Findings& findings) {
  if (!IsReady(facts) || !IsDriverWhole(facts)) {
    return;
  }
  // A driver update breaks dozens of lines of one file, with one fix.
  std::map<std::string, std::vector<std::string>> by_file;
  for (const SpecFinding& spec : facts.containers.stale_specs) {
    by_file[spec.path].push_back(spec.text);
  }
  for (const auto& [path, texts] : by_file) {
    findings.Add(fmt::format("{}: {}{}", path, texts.front(),
                             texts.size() == 1 ? "" : fmt::format(" ({} more)", texts.size() - 1)),
                 {std::string(kGenerate)});
  }
}

// Which of the files may go: the one that is stale when one alone is, else a person has to say.
std::vector<std::string> AloneCommands(const Facts& facts, const cdi::Conflict& conflict) {
  std::vector<std::string> stale;
  std::ranges::copy_if(conflict.paths, std::back_inserter(stale), [&](const std::string& path) {
    return std::ranges::find(facts.containers.stale_specs, path, &SpecFinding::path) !=
           facts.containers.stale_specs.end();
  });
  if (stale.size() == 1 && IsOfGpus(stale.front())) {
    return {fmt::format("rm {}   # it names missing files", stale.front())};
  }
  return {fmt::format("# keep one of {}: the one of the tool in use", Join(conflict.paths, ", ")),
          "ls -l /etc/cdi /var/run/cdi"};
}

void DeclaredTwice(const Facts& facts, Findings& findings) {
  for (const cdi::Conflict& conflict : facts.containers.conflicts) {
    findings.Add(fmt::format("{} is declared by {}", conflict.name, Join(conflict.paths, " and ")),
                 AloneCommands(facts, conflict));
  }
}

std::vector<std::string> RaiseLocked(const engine::Engine& engine) {
  if (engine.unit.empty()) {
    return {
        fmt::format("# raise the limit of the program that starts {} (pid {}): ulimit -l unlimited",
                    engine.Name(), engine.daemon ? engine.daemon->pid : 0)};
  }
  const std::string folder = fmt::format("/etc/systemd/system/{}.d", engine.unit);
  return {fmt::format("mkdir -p {0} && printf '[Service]\\nLimitMEMLOCK=infinity\\n' > {0}/"
                      "99-memlock.conf",
                      folder),
          fmt::format("systemctl daemon-reload && systemctl restart {}", engine.unit)};
}

void LittleLocked(const Facts& facts, Findings& findings) {
  for (const EngineFacts& one : facts.containers.engines) {
    if (!facts.has_gpus() || !facts.services.has_rdma || !one.memlock ||
        *one.memlock >= kEnoughLocked.count) {
      continue;
    }
    findings.Add(fmt::format("containers of {} may lock {}", one.engine.Name(),
                             FormatBytes(Bytes{*one.memlock})),
                 RaiseLocked(one.engine));
  }
}

// The host's default, unless somebody has asked for it.
std::vector<std::string> LeaveCgroupV1(const Facts& facts) {
  std::vector<std::string> fix;
  constexpr std::string_view kOff = "systemd.unified_cgroup_hierarchy=0";
  if (facts.kernel.cmdline.find(kOff) != std::string::npos) {
    fix.push_back(fmt::format("# remove {} from the kernel's command line", kOff));
  } else {
    fix = AddKernelParameter(facts, "systemd.unified_cgroup_hierarchy=1");
  }
  fix.emplace_back("reboot");
  return fix;
}

bool IsCgroupV1(const Facts& facts) {
  return facts.kubelet.is_here() && facts.containers.has_systemd && !facts.containers.is_cgroup_v2;
}

void CgroupV1(const Facts& facts, Findings& findings) {
  if (IsCgroupV1(facts) && !facts.kubelet.refuses_cgroup_v1()) {
    findings.Add("no /sys/fs/cgroup/cgroup.controllers", LeaveCgroupV1(facts));
  }
}

void CgroupV1Refused(const Facts& facts, Findings& findings) {
  if (IsCgroupV1(facts) && facts.kubelet.refuses_cgroup_v1()) {
    std::vector<std::string> fix = LeaveCgroupV1(facts);
    fix.push_back(fmt::format("# until then: set failCgroupV1: false in {}",
                              facts.kubelet.config_path.empty() ? "the kubelet's configuration"
                                                                : facts.kubelet.config_path));
    findings.Add(fmt::format("no /sys/fs/cgroup/cgroup.controllers, and the kubelet is {}",
                             facts.kubelet.version ? engine::ToString(*facts.kubelet.version)
                                                   : "configured to refuse that"),
                 std::move(fix));
  }
}

// runc 1.1.3 to 1.1.6 leave rules of devices out whose links are missing; systemd before 240 looks
// for the link itself. Source: runc's changelog of 1.1.7.
bool NeedsLinks(const ContainerFacts& containers) {
  constexpr unsigned kFirstWithNumbers = 240;
  const bool is_old_systemd =
      containers.systemd_version.value_or(kFirstWithNumbers) < kFirstWithNumbers;
  const bool is_such_runc = containers.runc_version &&
                            *containers.runc_version >= engine::Version{1, 1, 3} &&
                            *containers.runc_version < engine::Version{1, 1, 7};
  return is_old_systemd || is_such_runc;
}

void DeviceTrap(const Facts& facts, Findings& findings) {
  const ContainerFacts& containers = facts.containers;
  if (!IsReady(facts) || !containers.has_systemd || facts.kubelet.cgroup_driver == "cgroupfs") {
    return;
  }
  for (const EngineFacts& one : containers.engines) {
    if (containers.is_legacy_hook && HasRuntime(one, "nvidia-container-runtime")) {
      findings.Add(
          fmt::format("{} provides GPUs with NVIDIA's hook in \"legacy\" mode: systemd and runc do "
                      "not know about the devices, with or without links",
                      one.engine.Name()),
          {"# /etc/nvidia-container-runtime/config.toml: mode = \"cdi\"", std::string(kGenerate)});
    }
  }
  if (containers.lost_links.empty() || !NeedsLinks(containers)) {
    return;
  }
  // %t and %T are hexadecimal, and the only form that every stat has.
  findings.Add(fmt::format("missing: {}", Join(facts.containers.lost_links, ", ")),
               {"for node in /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm*; do ln -sf "
                "\"../${node#/dev/}\" \"/dev/char/$(printf '%d:%d' \"0x$(stat -c %t \"$node\")\" "
                "\"0x$(stat -c %T \"$node\")\")\"; done",
                "# at every boot, with a udev rule in /etc/udev/rules.d: ACTION==\"add\", "
                "DEVPATH==\"/bus/pci/drivers/nvidia\", RUN+=\"…\" with these links, or nvidia-ctk "
                "system create-dev-char-symlinks --create-all"});
}

constexpr std::array kContainerChecks = {
    Check{"engine-missing", "No container engine", Severity::kError,
          "Pods and containers need one; kgpu runtime install installs it from the distribution.",
          NoEngine},
    Check{"engine-stopped", "A container engine is not running", Severity::kError,
          "It is installed, but no process of it was found.", EngineStopped},
    Check{"engine-config-broken", "An engine's configuration is broken", Severity::kError,
          "A file of an engine does not parse or is refused, or names a runtime that does not run: "
          "the engine does not start again, or starts no container with a GPU. kgpu runtime check "
          "makes the same check.",
          ConfigBroken},
    Check{"engine-gives-no-gpu", "Containers of an engine get no GPU", Severity::kError,
          "The engine is too old for CDI, has it disabled, or its runtime is broken: run kgpu "
          "runtime check.",
          NoWay},
    Check{"cdi-missing", "No CDI file declares a GPU", Severity::kError,
          "Engines read from these files what a container with a GPU needs.", NoSpec},
    Check{"cdi-broken", "A CDI file is invalid", Severity::kError,
          "Engines ignore it, and some reject all devices because of it.", BrokenSpec},
    Check{"cdi-stale", "A CDI file names missing files", Severity::kError,
          "After a driver update or a MIG change it still names the old files: containers do not "
          "start. kgpu agent keeps its own file up to date.",
          StaleSpec},
    Check{"cdi-declared-twice", "Two CDI files declare the same device", Severity::kError,
          "Engines reject a device that two files of one folder declare.", DeclaredTwice},
    Check{"limit-memlock", "The memlock limit of containers is low", Severity::kWarning,
          "RDMA, and therefore NCCL, locks the memory that cards read. Containers inherit the "
          "limit of their engine: ibv_reg_mr reports \"Cannot allocate memory\".",
          LittleLocked},
    Check{"cgroup-v1", "The host runs cgroup v1", Severity::kWarning,
          "Kubernetes has deprecated v1: from 1.35 on a kubelet refuses to start with it. v1 is "
          "the default of RHEL 8, Amazon Linux 2, Ubuntu 20.04 and older SLES.",
          CgroupV1},
    Check{"cgroup-v1-refused", "The kubelet does not start with cgroup v1", Severity::kError,
          "failCgroupV1 in its configuration defaults to true from Kubernetes 1.35 on: the kubelet "
          "exits with \"configured to not run on a host using cgroup v1\".",
          CgroupV1Refused},
    Check{"cgroup-device-trap", "A reload of systemd would remove GPUs from running containers",
          Severity::kWarning,
          "runc 1.1.3 to 1.1.6, and systemd before 240, find a device by its link in /dev/char. "
          "NVIDIA's module creates none, so after systemctl daemon-reload a running container gets "
          "\"Failed to initialize NVML: Unknown Error\". Links last until the next boot; a newer "
          "runc needs none. Devices that NVIDIA's hook adds in legacy mode are lost in any case: "
          "use CDI instead.",
          DeviceTrap},
};

}  // namespace

std::span<const Check> ContainerChecks() {
  return kContainerChecks;
}

}  // namespace kgpu::doctor
