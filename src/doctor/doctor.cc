#include "src/doctor/doctor.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/doctor/commands.h"

namespace kgpu::doctor {

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

std::vector<Check> AllChecks() {
  std::vector<Check> all;
  for (const std::span<const Check> group :
       {PciChecks(), KernelChecks(), NouveauChecks(), DriverChecks(), DeviceChecks(),
        ServiceChecks(), ContainerChecks(), KubeletChecks(), PluginChecks(), ClusterChecks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

StatusOr<Check> FindCheck(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Check& check : AllChecks()) {
    if (check.id == id) {
      return check;
    }
    ids.push_back(check.id);
  }
  const std::optional<std::string_view> near = Nearest(id, ids);
  return NotFound("\"{}\" is no check{}: kgpu doctor --list names them", Printable(id, 60),
                  near ? fmt::format(", {} is", *near) : "");
}

StatusOr<Diagnosis> Diagnose(const Facts& facts, const std::vector<std::string>& only) {
  for (const std::string& id : only) {
    RETURN_IF_ERROR(FindCheck(id).status());
  }
  Diagnosis diagnosis;
  diagnosis.unseen = facts.unseen;
  for (const Check& check : AllChecks()) {
    if (!only.empty() && std::ranges::find(only, check.id) == only.end()) {
      continue;
    }
    ++diagnosis.checks;
    Findings findings;
    check.run(facts, findings);
    for (Finding& finding : findings.Take()) {
      finding.id = check.id;
      finding.severity = std::min(finding.severity, check.severity);
      if (!facts.containers.has_systemd) {
        DropSystemd(finding.mend);
      }
      diagnosis.findings.push_back(std::move(finding));
    }
  }
  return diagnosis;
}

bool IsWell(const Diagnosis& diagnosis) {
  return std::ranges::all_of(diagnosis.findings, [](const Finding& finding) {
    return finding.severity == Severity::kInfo;
  });
}

}  // namespace kgpu::doctor
