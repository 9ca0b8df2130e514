#include "src/cli/doctor.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/ask_agent.h"
#include "src/cli/doctor_hear.h"
#include "src/cli/doctor_image.h"
#include "src/cli/doctor_manifest.h"
#include "src/cli/host_options.h"
#include "src/cli/output.h"
#include "src/container/engine/disk.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/run.h"
#include "src/setup/doctor/doctor.h"
#include "src/setup/doctor/view.h"

namespace kgpu::cli {
namespace {

struct DoctorOptions {
  std::string host_root;
  std::string driver_root;
  std::string output = "table";
  std::string explain;
  std::vector<std::string> only;
  HearOptions hear;
  bool lists = false;
  bool fixes = false;
  bool is_dry_run = false;
};

ExitCode CodeOf(const doctor::Diagnosis& diagnosis) {
  switch (doctor::WorstOf(diagnosis)) {
    case doctor::Severity::kInfo:
      return ExitCode::kOk;
    case doctor::Severity::kWarning:
      return ExitCode::kWarned;
    case doctor::Severity::kError:
      break;
  }
  return ExitCode::kUnhealthy;
}

StatusOr<ExitCode> Explain(const std::string& id) {
  ASSIGN_OR_RETURN(const doctor::Check check, doctor::FindCheck(id));
  RETURN_IF_ERROR(PrintOut(doctor::ExplainText(check)));
  return ExitCode::kOk;
}

StatusOr<doctor::Diagnosis> Look(const host::DriverRoot& root, const DoctorOptions& options) {
  sys::RealRunner runner;
  ASSIGN_OR_RETURN(doctor::Heard heard, Hear(root.host, options.hear));
  return doctor::Diagnose(doctor::GatherFacts(root, runner, RealClock(), std::move(heard)),
                          options.only);
}

void TellFixed(const doctor::Fixed& fixed, bool is_dry_run) {
  for (const std::string& line : fixed.done) {
    PrintNote(fmt::format("{} {}", is_dry_run ? "would mend" : "mended", line));
  }
  // The first one is the error that the verb ends with.
  for (size_t i = 1; i < fixed.failed.size(); ++i) {
    PrintNote(fmt::format("not mended {}", Message(fixed.failed[i])));
  }
}

std::vector<std::string> Ids() {
  std::vector<std::string> ids;
  for (const doctor::Check& check : doctor::AllChecks()) {
    ids.emplace_back(check.id);
  }
  return ids;
}

void AddHearOptions(CLI::App& verb, HearOptions& options) {
  verb.add_option("--kubeconfig", options.node.kubeconfig,
                  "Ask the cluster of this file about the node, too: labels, taints, capacity, "
                  "other owners")
      ->type_name("FILE");
  verb.add_option("--context", options.node.context, "Of the kubeconfig (default: its current one)")
      ->type_name("NAME");
  verb.add_option("--node", options.node.node,
                  "Ask the cluster about the node of this name (default: $NODE_NAME, else this "
                  "host's)")
      ->type_name("NAME");
  verb.add_option("--node-file", options.node_file,
                  "Read what `kubectl get node NAME -o json` printed, in place of asking")
      ->type_name("FILE");
  AddRunDirOption(verb, options.run_dir);
}

StatusOr<ExitCode> RunDoctor(const DoctorOptions& options) {
  if (options.lists) {
    RETURN_IF_ERROR(PrintOut(doctor::ChecksMarkdown()));
    return ExitCode::kOk;
  }
  if (!options.explain.empty()) {
    return Explain(options.explain);
  }
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root,
                   host::OpenDriverRoot(options.host_root, options.driver_root, ""));
  ASSIGN_OR_RETURN(doctor::Diagnosis diagnosis, Look(root, options));
  doctor::Fixed fixed;
  if (options.fixes) {
    engine::HostDisk disk(root.host);
    fixed = doctor::Fix(diagnosis, root.host, disk, options.is_dry_run);
    TellFixed(fixed, options.is_dry_run);
    if (!options.is_dry_run) {
      ASSIGN_OR_RETURN(diagnosis, Look(root, options));
    }
  }
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? doctor::DiagnosisText(diagnosis)
                               : Render(doctor::DiagnosisJson(diagnosis), format)));
  if (!fixed.failed.empty()) {
    return Annotate(fixed.failed.front(), "--fix");
  }
  return CodeOf(diagnosis);
}

}  // namespace

void AddDoctorVerb(VerbRegistrar& verbs) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = verbs.app().add_subcommand(
      "doctor", "Tell what is wrong with this host, from the hardware upwards, and what mends it");
  verb->footer(
      "Exits 0 when there is neither an error nor a warning, 9 when there are warnings alone, 7 "
      "when there is an error. Changes nothing without --fix.\n\n"
      "  kgpu doctor\n"
      "  kgpu doctor --fix --dry-run                 which files would be written, line by line\n"
      "  kgpu doctor --explain pci-acs-redirects\n"
      "  kgpu doctor --kubeconfig ~/.kube/config     what the cluster says of this node, too\n"
      "  kgpu doctor --output json | jq '.findings[] | select(.severity == \"error\")'");
  verb->add_option("--host-root", options->host_root, "Folder where the host's files are seen")
      ->envname("KGPU_HOST_ROOT")
      ->type_name("DIR");
  verb->add_option("--driver-root", options->driver_root,
                   "Folder where the driver's files are seen (default: the host root)")
      ->envname("KGPU_DRIVER_ROOT")
      ->type_name("DIR");
  verb->add_option("--only", options->only, "Checks to run, by id: ID,ID")
      ->delimiter(',')
      ->type_name("ID");
  verb->add_option("--explain", options->explain, "Why a check matters and how its mend works")
      ->type_name("ID");
  verb->add_flag("--list", options->lists, "Print the table of all checks");
  CLI::Option* fix = verb->add_flag(
      "--fix", options->fixes, "Write the files that are safe to write; the old ones are kept");
  verb->add_flag("--dry-run", options->is_dry_run, "With --fix: only say what would be written")
      ->needs(fix);
  AddHearOptions(*verb, options->hear);
  AddOutputOption(*verb, options->output);
  verbs.OfferWords(*verb, {.flag = "--only", .words = Ids()});
  verbs.OfferWords(*verb, {.flag = "--explain", .words = Ids()});
  AddDoctorImageVerb(verbs, *verb);
  AddDoctorManifestVerb(verbs, *verb);
  verbs.OnRun(*verb, [options] { return RunDoctor(*options); });
}

}  // namespace kgpu::cli
