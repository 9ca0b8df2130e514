// Who makes the cgroups of pods: kubelet and engine have to agree, and systemd to know.
#include <array>
#include <optional>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/facts.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kContainerdKey = "SystemdCgroup";
constexpr std::string_view kCrioKey = "cgroup_manager";

// "key = value" of a line of TOML, without its comment; "" where it is another line.
std::string_view ValueOf(std::string_view line, std::string_view key) {
  line = Trim(line.substr(0, line.find('#')));
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || Trim(line.substr(0, equals)) != key) {
    return {};
  }
  return Trim(line.substr(equals + 1));
}

// Whether the engine leaves cgroups to systemd. One of several containerd runtimes is enough:
// which of them a pod gets is not known here. The default is no for containerd and yes for
// CRI-O.
bool UsesSystemd(const EngineFacts& one) {
  bool uses = one.engine.kind == engine::Kind::kCrio;
  for (const std::string_view line : Split(one.settings, '\n')) {
    const std::string_view manager = ValueOf(line, kCrioKey);
    if (one.engine.kind == engine::Kind::kCrio && !manager.empty()) {
      uses = manager.find("systemd") != std::string_view::npos;
    } else if (one.engine.kind == engine::Kind::kContainerd) {
      uses |= ValueOf(line, kContainerdKey) == "true";
    }
  }
  return uses;
}

// The default of Docker's packages: a kubelet cannot use such a containerd.
bool IsCriOff(const EngineFacts& one) {
  for (const std::string_view line : Split(one.settings, '\n')) {
    if (ValueOf(line, "disabled_plugins").find("cri\"") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// The engine that the kubelet of this host asks. k3s and RKE2 set the driver by themselves.
bool IsOfKubelet(const Facts& facts, const EngineFacts& one) {
  const std::string& endpoint = facts.kubelet.engine_endpoint;
  const bool is_containerd = one.engine.kind == engine::Kind::kContainerd;
  const bool is_named =
      endpoint.empty() || endpoint.find(is_containerd ? "containerd" : "crio") != std::string::npos;
  return one.engine.daemon && !one.engine.is_template && is_named &&
         ((is_containerd && !IsCriOff(one)) || one.engine.kind == engine::Kind::kCrio);
}

// KubeletCgroupDriverFromCRI: the kubelet asks the engine and ignores its own configuration.
// Source: KEP 4033; on from 1.31, with containerd 2.0 and CRI-O 1.28.
bool Follows(const KubeletFacts& kubelet, const engine::Engine& engine) {
  const engine::Version first =
      engine.kind == engine::Kind::kCrio ? engine::Version{1, 28} : engine::Version{2, 0};
  return kubelet.version && *kubelet.version >= engine::Version{1, 31} && engine.version &&
         *engine.version >= first;
}

// The line of its configuration that says no, with yes; nothing where none does.
std::optional<FileEdit> EditOf(const EngineFacts& one) {
  std::vector<std::string> lines;
  bool is_changed = false;
  for (const std::string_view text : Split(one.config, '\n')) {
    std::string& line = lines.emplace_back(text);
    if (ValueOf(text, kContainerdKey) == "false") {
      line.replace(line.find("false"), 5, "true");
      is_changed = true;
    }
  }
  if (!is_changed) {
    return std::nullopt;
  }
  return FileEdit{one.engine.config_file, Join(lines, "\n"), one.config};
}

std::string Wanted(const EngineFacts& one) {
  return one.engine.kind == engine::Kind::kCrio
             ? fmt::format("# {}: cgroup_manager = \"systemd\" below [crio.runtime]",
                           one.engine.config_file)
             : fmt::format("# {}: SystemdCgroup = true in the options of each runtime",
                           one.engine.config_file);
}

void Differ(const Facts& facts, Findings& findings) {
  for (const EngineFacts& one : facts.containers.engines) {
    if (facts.kubelet.cgroup_driver == "systemd" && IsOfKubelet(facts, one) && !UsesSystemd(one) &&
        !Follows(facts.kubelet, one.engine)) {
      findings.Add(
          fmt::format("the kubelet has cgroupDriver: systemd, {} uses cgroupfs", one.engine.Name()),
          {Wanted(one), fmt::format("systemctl restart {} kubelet", one.engine.Id())}, EditOf(one));
    }
  }
}

void Cgroupfs(const Facts& facts, Findings& findings) {
  if (!facts.containers.has_systemd) {
    return;
  }
  if (facts.kubelet.cgroup_driver == "cgroupfs") {
    findings.Add(
        fmt::format("{} has cgroupDriver: cgroupfs", facts.kubelet.config_path),
        {"# drain the node",
         fmt::format("sed -i 's/^cgroupDriver:.*/cgroupDriver: systemd/' {}",
                     facts.kubelet.config_path),
         "# the same in the engine: SystemdCgroup = true", "systemctl restart containerd kubelet"});
    return;
  }
  for (const EngineFacts& one : facts.containers.engines) {
    if (facts.kubelet.daemon && IsOfKubelet(facts, one) && !UsesSystemd(one) &&
        Follows(facts.kubelet, one.engine)) {
      findings.Add(fmt::format("{} uses cgroupfs, and the kubelet {} follows its engine",
                               one.engine.Name(), engine::ToString(*facts.kubelet.version)),
                   {"# drain the node", Wanted(one),
                    fmt::format("systemctl restart {} kubelet", one.engine.Id())});
    }
  }
}

constexpr std::array kCgroupDriverChecks = {
    Check{"cgroup-driver-differs", "Kubelet and engine use different cgroup drivers",
          Severity::kError,
          "Two managers of one cgroup tree: pods fail to start or lose their limits under load. "
          "containerd uses cgroupfs unless its configuration sets SystemdCgroup = true.",
          Differ},
    Check{"cgroup-driver-cgroupfs", "The kubelet bypasses systemd for cgroups", Severity::kWarning,
          "systemd owns the cgroups of this host. With cgroupfs the kubelet writes to them as "
          "well, and a reload of systemd reverts unknown changes, including device rules. From "
          "1.31 on the kubelet follows its engine, whatever its own setting.",
          Cgroupfs},
};

}  // namespace

std::span<const Check> CgroupDriverChecks() {
  return kCgroupDriverChecks;
}

}  // namespace kgpu::doctor
