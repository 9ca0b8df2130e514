#include "src/cli/base/commands.h"

#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/host_options.h"
#include "src/cli/base/kinds_view.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/doctor/doctor_driver.h"
#include "src/cli/doctor/doctor_hear.h"
#include "src/diagnose/doctor/doctor.h"
#include "src/diagnose/doctor/view.h"
#include "src/host/change/disk.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/run.h"

namespace kgpu::cli {
namespace {

struct DoctorOptions {
  HostOptions host;
  std::string output = "table";
  std::string explain;
  std::vector<std::string> only;
  HearOptions hear;
  bool lists = false;
  bool fixes = false;
  bool is_dry_run = false;
};

StatusOr<ExitCode> Explain(const std::string& id) {
  const StatusOr<doctor::Check> check = doctor::FindCheck(id);
  if (!check.ok()) {
    return Annotate(check.status(), "--explain");
  }
  return OkOr(PrintOut(doctor::ExplainText(*check)));
}

StatusOr<doctor::Diagnosis> Look(const host::DriverRoot& root, const DoctorOptions& options) {
  const Progress progress("examining the host");
  sys::RealRunner runner;
  ASSIGN_OR_RETURN(doctor::Heard heard, Hear(root.host, options.hear));
  HearDriver(options.host, root, options.only, heard);
  return doctor::Diagnose(doctor::GatherFacts(root, runner, RealClock(), std::move(heard)),
                          options.only);
}

void ReportFixed(const doctor::Fixed& fixed, const doctor::Diagnosis& diagnosis, bool is_dry_run) {
  if (fixed.done.empty() && fixed.failed.empty() && !diagnosis.findings.empty()) {
    PrintNote("nothing to write: the fixes below are commands for you to run");
  }
  for (const std::string& line : fixed.done) {
    PrintNote(fmt::format("{} {}", is_dry_run ? "would fix" : "fixed", line));
  }
  // The first one is the error that the command ends with.
  for (size_t i = 1; i < fixed.failed.size(); ++i) {
    PrintNote(fmt::format("not fixed {}", Message(fixed.failed[i])));
  }
}

std::vector<std::string> Ids() {
  std::vector<std::string> ids;
  for (const doctor::Check& check : doctor::AllChecks()) {
    ids.emplace_back(check.id);
  }
  return ids;
}

void AddHearOptions(CLI::App& command, HearOptions& options) {
  AddValue(
      command, "--kubeconfig", options.node.kubeconfig, "FILE",
      "Also check the node in the cluster of this file: labels, taints, capacity, other owners");
  AddValue(command, "--context", options.node.context, "NAME",
           "Context in the kubeconfig (default: the current one)");
  AddValue(
      command, "--node", options.node.node, "NAME",
      "Check the node of this name in the cluster (default: $NODE_NAME, else this host's name)");
  AddValue(command, "--node-file", options.node_file, "FILE",
           "Read the output of `kubectl get node NAME -o json` instead of asking the cluster")
      ->excludes("--kubeconfig")
      ->excludes("--context")
      ->excludes("--node");
  AddRunDirOption(command, options.run_dir);
}

StatusOr<ExitCode> RunDoctor(const DoctorOptions& options) {
  if (options.lists) {
    const std::vector<report::Kind> kinds = doctor::CheckKinds();
    return PrintKinds(options.output, {.kinds = kinds, .name = "checks"}, doctor::ChecksMarkdown());
  }
  if (!options.explain.empty()) {
    return Explain(options.explain);
  }
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(doctor::Diagnosis diagnosis, Look(root, options));
  doctor::Fixed fixed;
  if (options.fixes) {
    change::HostDisk disk(root.host);
    fixed = doctor::Fix(diagnosis, root.host, disk, options.is_dry_run);
    ReportFixed(fixed, diagnosis, options.is_dry_run);
    if (!options.is_dry_run) {
      ASSIGN_OR_RETURN(diagnosis, Look(root, options));
    }
  }
  RETURN_IF_ERROR(PrintAs(format, doctor::DiagnosisText(diagnosis, TakesColor(STDOUT_FILENO)),
                          doctor::DiagnosisJson(diagnosis)));
  if (!fixed.failed.empty()) {
    return Annotate(fixed.failed.front(), "--fix");
  }
  const report::Severity worst = report::WorstOf(diagnosis.findings);
  return diagnosis.is_host_hidden && worst != report::Severity::kError ? ExitCode::kPrecondition
                                                                       : ExitCodeOf(worst);
}

}  // namespace

void AddDoctorCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<DoctorOptions>(
      registrar.app(), "doctor",
      "Find out what is wrong with this host, from the hardware up, and how to fix it", &RunDoctor);
  command.footer(
      "Exits 0 without errors or warnings, 9 with warnings only, 7 with an error, 6 in a container "
      "that cannot see the host. Changes nothing without --fix.\n"
      "\n"
      "  kgpu doctor\n"
      "  kgpu doctor --fix --dry-run                 show the files it would write, as diffs\n"
      "  kgpu doctor --explain pci-acs-redirects\n"
      "  kgpu doctor --kubeconfig ~/.kube/config     also check the node in the cluster\n"
      "  kgpu doctor --output json | jq '.findings[] | select(.severity == \"error\")'");
  AddHostOptions(command, options.host);
  CLI::Option* only =
      AddValue(command, "--only", options.only, "ID", "IDs of the checks to run: ID,ID")
          ->delimiter(',');
  CLI::Option* explain = AddValue(command, "--explain", options.explain, "ID",
                                  "Explain why a check matters and what its fix does")
                             ->excludes(only);
  CLI::Option* list = command.add_flag("--list", options.lists, "List all checks")
                          ->excludes(only)
                          ->excludes(explain);
  CLI::Option* fix = command
                         .add_flag("--fix", options.fixes,
                                   "Write the files that are safe to write; backups are kept")
                         ->excludes(explain)
                         ->excludes(list);
  command.add_flag("--dry-run", options.is_dry_run, "With --fix: show what would be written")
      ->needs(fix);
  AddHearOptions(command, options.hear);
  AddOutputOption(command, options.output, kKindsFormats, "Output format; markdown: with --list");
  registrar.OfferWords(command, {.flag = "--only", .words = Ids()});
  registrar.OfferWords(command, {.flag = "--explain", .words = Ids()});
  AddDoctorImageCommand(registrar, command);
  AddDoctorManifestCommand(registrar, command);
  AddRequireCommand(registrar, command);
}

}  // namespace kgpu::cli
