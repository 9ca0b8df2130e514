#include "src/cli/doctor_manifest.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "src/cli/config_file.h"
#include "src/cli/output.h"
#include "src/container/engine/diff.h"
#include "src/diagnose/manifest/manifest.h"
#include "src/diagnose/manifest/view.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
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

void TellWhatIsLost(const manifest::Report& report) {
  for (const size_t number : report.reprinted) {
    PrintNote(fmt::format("{}: document {} was printed anew: its comments are gone", report.file,
                          number));
  }
  for (const manifest::FoundFinding& found : report.left) {
    PrintNote(fmt::format("{}: left to you: {}: {}: {}", report.file, found.object,
                          found.finding.path.str(), found.finding.mend));
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
      PrintNote(fmt::format("{}: it is yours now: {}", file, Message(ErrnoStatus(errno, "chown"))));
    }
  }
  PrintNote(fmt::format("mended {}; the old one is {}", checked.report.file, kept));
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
  return PrintOut(format == OutputFormat::kTable ? manifest::ReportsText(reports)
                                                 : Render(manifest::ReportsJson(reports), format));
}

StatusOr<ExitCode> RunManifest(const ManifestOptions& options) {
  if (options.lists) {
    RETURN_IF_ERROR(PrintOut(manifest::RulesMarkdown()));
    return ExitCode::kOk;
  }
  if (options.files.empty()) {
    return InvalidArgument("doctor manifest: name a file, or - for standard input");
  }
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::vector<Checked> all, CheckManifests(options));
  const bool is_modern_wanted = options.prints || options.diffs || options.is_in_place;
  bool is_good = true;
  for (const Checked& checked : all) {
    const std::vector<manifest::FoundFinding>& counted =
        is_modern_wanted ? checked.report.left : checked.report.findings;
    for (const manifest::FoundFinding& found : counted) {
      is_good = is_good && found.finding.severity == manifest::Severity::kInfo;
    }
    if (is_modern_wanted) {
      TellWhatIsLost(checked.report);
    }
    if (options.diffs) {
      RETURN_IF_ERROR(
          PrintOut(engine::UnifiedDiff(checked.report.file, checked.text, checked.report.modern)));
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
  return is_good ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

void AddDoctorManifestVerb(VerbRegistrar& verbs, CLI::App& doctor) {
  auto options = std::make_shared<ManifestOptions>();
  CLI::App* verb = doctor.add_subcommand(
      "manifest", "Tell what is old or wrong about GPUs in manifests, and print the modern ones");
  verb->footer(
      "Exits 7 when there is an error or a warning; with --print, --diff or --in-place when one "
      "is\n"
      "left to you. Comments and order are kept; where they can not be, that is said.\n\n"
      "  kgpu doctor manifest deploy/*.yaml\n"
      "  helm template chart | kgpu doctor manifest -\n"
      "  kgpu doctor manifest old.yaml --diff\n"
      "  kgpu doctor manifest old.yaml --print | kubectl apply -f -\n"
      "  kgpu doctor manifest old.yaml --in-place     keeps old.yaml.before-kgpu");
  verb->add_option("FILE", options->files, "Manifests, YAML or JSON; - is standard input");
  verb->add_option("--kubernetes", options->kubernetes,
                   "The version that they are for: what is gone later is a warning")
      ->type_name("V")
      ->capture_default_str();
  verb->add_flag("--list", options->lists, "Print the table of all findings");
  CLI::Option* print = verb->add_flag("--print", options->prints, "Print the modern manifests");
  CLI::Option* diff = verb->add_flag("--diff", options->diffs, "Print what would change");
  verb->add_flag("--in-place", options->is_in_place, "Write the modern manifests over the old ones")
      ->excludes(print)
      ->excludes(diff);
  AddOutputOption(*verb, options->output);
  verbs.OnRun(*verb, [options] { return RunManifest(*options); });
}

}  // namespace kgpu::cli
