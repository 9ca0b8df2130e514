#include "src/cli/base/commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "src/cli/base/config_file.h"
#include "src/cli/base/kinds_view.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/container/engine/diff.h"
#include "src/diagnose/manifest/manifest.h"
#include "src/diagnose/manifest/view.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/report/print.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::cli {
namespace {

using FileFacts = struct stat;

constexpr const char* kBackupEnding = ".before-kgpu";

struct ManifestOptions {
  std::vector<std::string> files;
  std::string kubernetes = manifest::kNewestKubernetes.str();
  std::string output = "table";
  bool lists = false;
  bool prints = false;
  bool diffs = false;
  bool is_in_place = false;
};

struct Checked {
  std::string text;
  manifest::Report report;
};

StatusOr<std::vector<Checked>> CheckManifests(const ManifestOptions& options) {
  ASSIGN_OR_RETURN(const manifest::KubernetesVersion target,
                   manifest::KubernetesVersion::Parse(options.kubernetes));
  std::vector<Checked> all;
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(TextFile text, ReadTextFile(file));
    ASSIGN_OR_RETURN(manifest::Report report,
                     manifest::CheckManifest(text.text, text.name, target));
    all.push_back({std::move(text.text), std::move(report)});
  }
  return all;
}

void ReportWhatIsLost(const manifest::Report& report) {
  for (const size_t number : report.reprinted) {
    PrintNote(
        fmt::format("{}: document {} was reformatted and lost its comments", report.file, number));
  }
  for (const manifest::Match& match : report.left) {
    PrintNote(fmt::format("needs a manual fix: {}", report::LineOf(match.finding)));
  }
}

// The first text of all stays: "old.yaml.before-kgpu", then "old.yaml.before-kgpu.2".
std::string UnusedName(const std::string& name) {
  std::string unused = name;
  std::error_code error;
  for (size_t i = 2; std::filesystem::exists(unused, error); ++i) {
    unused = fmt::format("{}.{}", name, i);
  }
  return unused;
}

// The old text stays beside it, whole.
Status WriteInPlace(const Checked& checked) {
  if (checked.text == checked.report.modern) {
    return OkStatus();
  }
  std::error_code error;
  const std::string path = std::filesystem::canonical(checked.report.file, error);
  if (error) {
    return InvalidArgument("--in-place: {}: {}", checked.report.file, error.message());
  }
  FileFacts facts = {};
  if (stat(path.c_str(), &facts) != 0) {
    return ErrnoStatus(errno, path);
  }
  const mode_t mode = facts.st_mode & 07777U;
  const std::string kept = UnusedName(fmt::format("{}{}", path, kBackupEnding));
  RETURN_IF_ERROR(sys::WriteFileAtomically(kept, checked.text, mode));
  RETURN_IF_ERROR(sys::WriteFileAtomically(path, checked.report.modern, mode));
  for (const std::string& file : {kept, path}) {
    if (chown(file.c_str(), facts.st_uid, facts.st_gid) != 0) {
      PrintNote(fmt::format("{}: cannot restore its owner: {}", file,
                            Message(ErrnoStatus(errno, "chown"))));
    }
  }
  PrintNote(fmt::format("fixed {}; the old file is {}", checked.report.file, kept));
  return OkStatus();
}

std::string ModernText(const std::vector<Checked>& all) {
  std::string text;
  for (const Checked& checked : all) {
    const bool needs_separator =
        !text.empty() && !std::string_view(checked.report.modern).starts_with("---");
    text += !text.empty() && !text.ends_with('\n') ? "\n" : "";
    text += needs_separator ? "---\n" : "";
    text += checked.report.modern;
  }
  return text;
}

Status PrintFindings(const std::vector<Checked>& all, OutputFormat format) {
  std::vector<manifest::Report> reports;
  reports.reserve(all.size());
  for (const Checked& checked : all) {
    reports.push_back(checked.report);
  }
  return PrintAs(format, manifest::ReportsText(reports, TakesColor(STDOUT_FILENO)),
                 manifest::ReportsJson(reports));
}

StatusOr<ExitCode> RunManifest(const ManifestOptions& options) {
  if (options.lists) {
    return PrintKinds(options.output,
                      {.kinds = manifest::AllRules(),
                       .name = "findings",
                       .extra = "FIXED BY --print",
                       .extra_key = "fixed"},
                      manifest::RulesMarkdown());
  }
  if (options.files.empty()) {
    return InvalidArgument(
        "doctor manifest: FILE is missing: name a file, or - for standard input");
  }
  if (options.prints && options.diffs) {
    return InvalidArgument(
        "doctor manifest: --print and --diff both write to standard output: give one of them");
  }
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::vector<Checked> all, CheckManifests(options));
  const bool is_modern_wanted = options.prints || options.diffs || options.is_in_place;
  report::Severity worst = report::Severity::kInfo;
  for (const Checked& checked : all) {
    worst = std::max(worst, report::WorstOf(manifest::FindingsOf(
                                is_modern_wanted ? checked.report.left : checked.report.findings)));
    if (is_modern_wanted) {
      ReportWhatIsLost(checked.report);
    }
    if (options.diffs) {
      RETURN_IF_ERROR(PrintOut(DiffForOutput(
          engine::UnifiedDiff(checked.report.file, checked.text, checked.report.modern))));
    }
    if (options.is_in_place) {
      RETURN_IF_ERROR(WriteInPlace(checked));
    }
  }
  if (options.prints) {
    RETURN_IF_ERROR(PrintOut(ModernText(all)));
  }
  if (!is_modern_wanted) {
    RETURN_IF_ERROR(PrintFindings(all, format));
  }
  return ExitCodeOf(worst);
}

}  // namespace

void AddDoctorManifestCommand(CommandRegistrar& registrar, CLI::App& doctor) {
  auto [command, options] = registrar.Add<ManifestOptions>(
      doctor, "manifest", "Find outdated or wrong GPU settings in manifests, and print fixed ones",
      &RunManifest);
  command.footer(
      "Exits 7 with an error, 9 with warnings only; with --print, --diff or --in-place only those\n"
      "that need a manual fix count. Comments and order are kept, or a message says where not.\n"
      "\n"
      "  kgpu doctor manifest deploy/*.yaml\n"
      "  helm template chart | kgpu doctor manifest -\n"
      "  kgpu doctor manifest old.yaml --diff\n"
      "  kgpu doctor manifest old.yaml --print | kubectl apply -f -\n"
      "  kgpu doctor manifest old.yaml --in-place     keeps old.yaml.before-kgpu");
  CLI::Option* files =
      command.add_option("FILE", options.files, "Manifests in YAML or JSON; - for standard input");
  AddValue(command, "--kubernetes", options.kubernetes, "V",
           "Target Kubernetes version; APIs that it removed are warnings");
  command.add_flag("--list", options.lists, "List all findings")->excludes(files);
  CLI::Option* print = command.add_flag("--print", options.prints, "Print the fixed manifests");
  CLI::Option* diff = command.add_flag("--diff", options.diffs, "Print the changes as a diff");
  command.add_flag("--in-place", options.is_in_place, "Replace the files with the fixed manifests")
      ->excludes(print)
      ->excludes(diff);
  AddOutputOption(command, options.output, kKindsFormats, "Output format; markdown: with --list");
}

}  // namespace kgpu::cli
