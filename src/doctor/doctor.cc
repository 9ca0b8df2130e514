#include "src/doctor/doctor.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kBackup = ".before-kgpu";

// What to say of an edit whose lines are new or changed.
std::string Describe(const FileEdit& edit, std::string_view before) {
  std::string text = fmt::format("{} {}", before.empty() ? "write" : "change", edit.path);
  const std::vector<std::string_view> old = Split(before, '\n');
  const std::vector<std::string_view> now = Split(edit.text, '\n');
  for (const std::string_view line : old) {
    if (std::ranges::find(now, line) == now.end()) {
      text += fmt::format("\n  - {}", Printable(line));
    }
  }
  for (const std::string_view line : now) {
    if (std::ranges::find(old, line) == old.end()) {
      text += fmt::format("\n  + {}", Printable(line));
    }
  }
  return text;
}

Status MakeFolders(engine::Disk& disk, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::filesystem::path at;
  for (const std::filesystem::path& part : folder) {
    at /= part;
    if (at != "/") {
      RETURN_IF_ERROR(disk.MakeFolder(at.string()));
    }
  }
  return OkStatus();
}

}  // namespace

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
      finding.severity = check.severity;
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

namespace {

// What stood there before the first edit, for no other eyes than that: a later edit of the same
// file leaves it as it is.
Status KeepFirst(const sys::Root& host, engine::Disk& disk, const std::string& path,
                 const std::string& text) {
  const std::string backup = fmt::format("{}{}", path, kBackup);
  if (host.Exists(backup)) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const struct stat original, host.Stat(path));
  return disk.Write(backup, text, original.st_mode & 0777);
}

}  // namespace

StatusOr<std::vector<std::string>> Fix(const Diagnosis& diagnosis, const sys::Root& host,
                                       engine::Disk& disk, bool is_dry_run) {
  std::vector<std::string> done;
  std::set<std::string> paths;
  for (const Finding& finding : diagnosis.findings) {
    // Of several edits of one file the next run makes the next one.
    if (!finding.fix || !paths.insert(finding.fix->path).second) {
      continue;
    }
    const FileEdit& edit = *finding.fix;
    StatusOr<std::string> before = host.ReadFile(edit.path);
    if (!before.ok() && before.status().code() != StatusCode::kNotFound) {
      return before.status();
    }
    done.push_back(fmt::format("{}: {}", finding.id, Describe(edit, before.value_or(""))));
    if (is_dry_run) {
      continue;
    }
    RETURN_IF_ERROR(MakeFolders(disk, edit.path));
    if (before.ok()) {
      RETURN_IF_ERROR(KeepFirst(host, disk, edit.path, *before));
    }
    RETURN_IF_ERROR(disk.Write(edit.path, edit.text, 0644));
  }
  return done;
}

}  // namespace kgpu::doctor
