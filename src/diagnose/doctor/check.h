// A check of `kgpu doctor`: a table entry, and a pure function of the facts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/report/finding.h"

namespace kgpu::doctor {

struct Facts;

using report::FileEdit;
using report::Finding;
using report::Severity;

// Collects one check's findings. A finding has the severity of its check, or less.
class Findings {
 public:
  void Add(std::string evidence, std::vector<std::string> fix,
           std::optional<FileEdit> edit = std::nullopt) {
    Finding finding{.evidence = {std::move(evidence)}, .fix = {.commands = std::move(fix)}};
    if (edit) {
      finding.fix.edits.push_back(*std::move(edit));
    }
    list_.push_back(std::move(finding));
  }
  // A finding that is less severe on this host than the check's own severity.
  void AddWarning(std::string evidence, std::vector<std::string> fix) {
    Add(std::move(evidence), std::move(fix));
    list_.back().severity = Severity::kWarning;
  }
  // The check found something that is probably intended on this host.
  void AddInfo(std::string evidence, std::vector<std::string> fix) {
    Add(std::move(evidence), std::move(fix));
    list_.back().severity = Severity::kInfo;
  }
  std::vector<Finding> Take() { return std::move(list_); }

 private:
  std::vector<Finding> list_;
};

struct Check {
  std::string_view id;     // "driver-nouveau-loaded": never changes
  std::string_view title;  // what is wrong if it finds something
  Severity severity = Severity::kInfo;
  std::string_view explain;  // why it matters and how the fix works, for --explain
  void (*run)(const Facts& facts, Findings& findings) = nullptr;
};

// The groups, from the hardware upwards.
std::span<const Check> PciChecks();
std::span<const Check> PlaceChecks();
std::span<const Check> EntitlementChecks();
std::span<const Check> KernelChecks();
std::span<const Check> NouveauChecks();
std::span<const Check> DriverChecks();
std::span<const Check> DeviceChecks();
std::span<const Check> GpuChecks();
std::span<const Check> ServiceChecks();
std::span<const Check> ContainerChecks();
std::span<const Check> CgroupDriverChecks();
std::span<const Check> KubeletChecks();
std::span<const Check> PluginChecks();
std::span<const Check> ClusterChecks();

}  // namespace kgpu::doctor
