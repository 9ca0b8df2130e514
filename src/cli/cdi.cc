#include "src/cli/cdi.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/cdi_folders.h"
#include "src/cli/cdi_view.h"
#include "src/cli/host_options.h"
#include "src/cli/observe.h"
#include "src/cli/output.h"
#include "src/container/cdi/check.h"
#include "src/container/cdi/folder.h"
#include "src/container/cdi/names.h"
#include "src/container/cdi/publisher.h"
#include "src/container/cdi/spec_text.h"
#include "src/container/inject/book_file.h"
#include "src/container/inject/build_specs.h"
#include "src/container/inject/companion_specs.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

struct GenerateOptions {
  HostOptions host;
  std::string output_dir;
  std::string format = "json";
  std::string capabilities = "compute,utility";
  bool is_dry_run = false;
  bool is_watch = false;
};

// With --watch: how often the files are looked at though nothing has changed, so that names kept
// for a while run out, and files that somebody else adds or removes count.
constexpr std::chrono::seconds kLookAgain{60};

struct ReadOptions {
  HostOptions host;
  std::vector<std::string> spec_dirs;
  std::string output = "table";
};

StatusOr<doc::Format> ParseFormat(const std::string& text) {
  if (text == "json") {
    return doc::Format::kJson;
  }
  if (text == "yaml") {
    return doc::Format::kYaml;
  }
  return InvalidArgument("--format: \"{}\" must be json or yaml", text);
}

// A driver that does not answer tells nothing about the GPUs: whatever spec is there stays.
Status RefuseWithoutDriver(const device::Driver& driver) {
  if (driver.state == device::DriverState::kReady) {
    return OkStatus();
  }
  return FailedPrecondition("no spec is written: driver: {}: {}", device::ToString(driver.state),
                            driver.reason);
}

std::string Summary(const cdi::PublishReport& report, const sys::Root& root) {
  std::string text;
  for (const std::string& path : report.written) {
    text += fmt::format("wrote {}\n", root.At(path));
  }
  for (const std::string& path : report.removed) {
    text += fmt::format("removed {}\n", root.At(path));
  }
  return text;
}

// Everything between a snapshot and the files, settled once.
struct Generator {
  host::DriverRoot root;
  CdiFolders folders;
  sys::Root engine;
  RealClock clock;
  cdi::PublisherOptions publisher_options;
  inject::SpecOptions spec_options;
};

StatusOr<Generator> MakeGenerator(const GenerateOptions& options) {
  cdi::PublisherOptions publisher_options;
  inject::SpecOptions spec_options;
  ASSIGN_OR_RETURN(publisher_options.format, ParseFormat(options.format));
  ASSIGN_OR_RETURN(spec_options.capabilities, inject::ParseCapabilities(options.capabilities));
  ASSIGN_OR_RETURN(host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(CdiFolders folders, FoldersToWrite(options.host, options.output_dir));
  publisher_options.folder = folders.paths.back();
  publisher_options.folders = folders.paths;
  publisher_options.fleeting_kinds = inject::CompanionKinds();
  ASSIGN_OR_RETURN(sys::Root engine, sys::Root::Open(root.engine_root));
  return Generator{std::move(root), std::move(folders),           std::move(engine),
                   RealClock(),     std::move(publisher_options), std::move(spec_options)};
}

void PrintNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    PrintNote(note);
  }
}

StatusOr<inject::SpecSet> GpuSpecsOf(const Generator& generator, const device::Snapshot& snapshot) {
  RETURN_IF_ERROR(RefuseWithoutDriver(snapshot.driver));
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    PrintNote(fmt::format("{}: left out: {}", gpu.pci.str(), gpu.reason));
  }
  ASSIGN_OR_RETURN(inject::SpecSet set,
                   inject::BuildSpecs(snapshot, generator.root, generator.spec_options));
  PrintNotes(set.notes);
  return set;
}

std::vector<cdi::Spec> CompanionSpecsOf(const Generator& generator,
                                        const device::Snapshot& snapshot) {
  inject::CompanionSpecs companions = inject::BuildCompanionSpecs(snapshot, generator.root);
  PrintNotes(companions.notes);
  return std::move(companions.specs);
}

// Engines that read CDI do without the book, so a host that does not take it is only told of.
// Returns what to print.
std::string WriteBook(const Generator& generator, const inject::Book& book) {
  const StatusOr<bool> is_new = inject::WriteBook(generator.root.host, book);
  if (!is_new.ok()) {
    PrintNote(
        fmt::format("kgpu-runtime will not know of these GPUs: {}", Message(is_new.status())));
    return "";
  }
  return *is_new ? fmt::format("wrote {}\n", generator.root.host.At(inject::kInjectionBookPath))
                 : "";
}

// `written` is what was written besides.
StatusOr<ExitCode> PublishSpecs(const Generator& generator, const std::vector<cdi::Spec>& specs,
                                const std::string& written, bool says_nothing_to_change) {
  cdi::Publisher publisher(generator.folders.root, generator.engine, generator.clock,
                           generator.publisher_options);
  ASSIGN_OR_RETURN(const cdi::PublishReport report, publisher.Publish(specs));
  const std::string summary = Summary(report, generator.folders.root) + written;
  if (!summary.empty() || says_nothing_to_change) {
    RETURN_IF_ERROR(PrintOut(summary.empty() ? "nothing to change\n" : summary));
    PrintNotes(report.notes);
  }
  for (const cdi::Finding& finding : report.findings) {
    PrintNote(finding.text);
  }
  return report.findings.empty() ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> Publish(const Generator& generator, const device::Snapshot& snapshot,
                           bool says_nothing_to_change) {
  const std::vector<cdi::Spec> companions = CompanionSpecsOf(generator, snapshot);
  StatusOr<inject::SpecSet> set = GpuSpecsOf(generator, snapshot);
  if (!set.ok()) {
    // What does not hang on the driver is true all the same.
    RETURN_IF_ERROR(PublishSpecs(generator, companions, "", false).status());
    return set.status();
  }
  set->specs.insert(set->specs.end(), companions.begin(), companions.end());
  return PublishSpecs(generator, set->specs, WriteBook(generator, set->book),
                      says_nothing_to_change);
}

// Publishes after every change until interrupted. A host or folder that is bad for now is told and
// tried again with the next change.
Status WatchSpecs(const GenerateOptions& options, const Generator& generator) {
  return WatchSnapshots(options.host, generator.root, {.repeat = kLookAgain},
                        [&](const device::SnapshotPtr& snapshot) {
                          const auto done = Publish(generator, *snapshot, false);
                          if (!done.ok()) {
                            PrintNote(Message(done.status()));
                          }
                          return true;
                        });
}

StatusOr<ExitCode> DryRunSpecs(const Generator& generator, const device::Snapshot& snapshot) {
  ASSIGN_OR_RETURN(const inject::SpecSet set, GpuSpecsOf(generator, snapshot));
  for (const cdi::Spec& spec : CompanionSpecsOf(generator, snapshot)) {
    if (!spec.devices.empty() && spec.kind.starts_with("kgpu.dev/")) {
      PrintNote(fmt::format("there would be {} too",
                            cdi::QualifiedName(spec.kind, spec.devices.back().name)));
    }
  }
  // The second spec only repeats the first under NVIDIA's kind.
  if (set.specs.empty() || set.specs.front().devices.empty()) {
    PrintNote("no usable GPU: there would be no spec");
    return ExitCode::kUnhealthy;
  }
  RETURN_IF_ERROR(PrintOut(cdi::PrintSpec(set.specs.front(), generator.publisher_options.format)));
  PrintNote(fmt::format("for kgpu-runtime {} would hold the same",
                        generator.root.host.At(inject::kInjectionBookPath)));
  return ExitCode::kOk;
}

StatusOr<ExitCode> RunGenerate(const GenerateOptions& options) {
  ASSIGN_OR_RETURN(const Generator generator, MakeGenerator(options));
  if (options.is_watch) {
    RETURN_IF_ERROR(WatchSpecs(options, generator));
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, generator.root));
  return options.is_dry_run ? DryRunSpecs(generator, *snapshot)
                            : Publish(generator, *snapshot, true);
}

StatusOr<ExitCode> RunSpecList(const ReadOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const CdiFolders folders, FoldersToRead(options.host, options.spec_dirs));
  const cdi::FolderContents contents = cdi::ReadFolders(folders.root, folders.paths);
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable ? FoldersTable(contents)
                                                          : Render(FoldersJson(contents), format)));
  const bool is_well = contents.conflicts.empty() && contents.problems.empty() &&
                       std::ranges::all_of(contents.files, [](const cdi::SpecFile& file) {
                         return file.problem.empty();
                       });
  return is_well ? ExitCode::kOk : ExitCode::kUnhealthy;
}

// A finding for each file engines would not use, each conflict, and all that specs name in vain.
FileFindings CheckSpecs(const cdi::FolderContents& contents, const sys::Root& engine) {
  FileFindings findings;
  for (const cdi::SpecFile& file : contents.files) {
    findings.emplace_back(file.path, file.problem.empty()
                                         ? cdi::CheckSpec(file.spec, engine)
                                         : std::vector<cdi::Finding>{{"", file.problem}});
  }
  for (const cdi::Conflict& conflict : contents.conflicts) {
    findings.emplace_back(
        conflict.paths.front(),
        std::vector<cdi::Finding>{
            {conflict.name, fmt::format("declared by {} too: engines refuse it; remove all but one",
                                        fmt::join(conflict.paths.begin() + 1, conflict.paths.end(),
                                                  " and by "))}});
  }
  for (const std::string& problem : contents.problems) {
    findings.emplace_back("", std::vector<cdi::Finding>{{"", problem}});
  }
  return findings;
}

StatusOr<ExitCode> RunSpecCheck(const ReadOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const CdiFolders folders, FoldersToRead(options.host, options.spec_dirs));
  ASSIGN_OR_RETURN(const sys::Root engine, sys::Root::Open(root.engine_root));
  const cdi::FolderContents contents = cdi::ReadFolders(folders.root, folders.paths);
  if (contents.files.empty() && contents.problems.empty()) {
    return NotFound("no CDI spec in {}: kgpu cdi generate writes one",
                    fmt::join(folders.paths, " or "));
  }
  const FileFindings findings = CheckSpecs(contents, engine);
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? FindingsText(findings)
                               : Render(FindingsJson(findings), format)));
  const bool is_well =
      std::ranges::all_of(findings, [](const auto& of_file) { return of_file.second.empty(); });
  return is_well ? ExitCode::kOk : ExitCode::kUnhealthy;
}

void AddGenerate(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* verb = group.add_subcommand(
      "generate", "Write the CDI spec by which containers get this host's GPUs");
  verb->footer(
      "Devices are named by index, by UUID and \"all\"; MIG devices by UUID and \"GPU:INDEX\".\n"
      "The kind is kgpu.dev/gpu; nvidia.com/gpu as well where no other file declares it.\n"
      "IMEX channels, GPUDirect Storage, GDRCopy and RDMA cards that are there get kinds of their\n"
      "own: kgpu.dev/imex-channel=0, kgpu.dev/gds=all, kgpu.dev/gdrcopy=all, "
      "kgpu.dev/mofed=all.\n\n"
      "  kgpu cdi generate --dry-run --format yaml\n"
      "  kgpu cdi generate --capabilities compute,utility,video\n"
      "  podman run --device kgpu.dev/gpu=0 IMAGE …");
  verb->add_option("--output-dir", options->output_dir,
                   "Folder for the files (default: /var/run/cdi of the host)")
      ->type_name("DIR");
  verb->add_option("--format", options->format, "json or yaml")->capture_default_str();
  verb->add_option("--capabilities", options->capabilities,
                   "What containers may use: compute, utility, graphics, video, display, ngx, "
                   "compat32, or all")
      ->type_name("LIST")
      ->capture_default_str();
  CLI::Option* dry_run =
      verb->add_flag("--dry-run", options->is_dry_run, "Print the spec, write nothing");
  verb->add_flag("-w,--watch", options->is_watch,
                 "Go on until interrupted: write again after every change of GPUs or driver")
      ->excludes(dry_run);
  AddHostOptions(*verb, options->host);
  verbs.OnRun(*verb, [options] { return RunGenerate(*options); });
}

void AddReader(VerbRegistrar& verbs, CLI::App& group, const std::string& name,
               const std::string& description, StatusOr<ExitCode> (*run)(const ReadOptions&)) {
  auto options = std::make_shared<ReadOptions>();
  CLI::App* verb = group.add_subcommand(name, description);
  AddOutputOption(*verb, options->output);
  verb->add_option("--spec-dir", options->spec_dirs,
                   "Folders to read, the deciding one last (default: /etc/cdi, /var/run/cdi)")
      ->type_name("DIR");
  AddHostOptions(*verb, options->host);
  verbs.OnRun(*verb, [options, run] { return run(*options); });
}

}  // namespace

void AddCdiVerbs(VerbRegistrar& verbs) {
  CLI::App* group = verbs.app().add_subcommand(
      "cdi", "Make GPUs available to containers: CDI specs (generate, list, check)");
  group->require_subcommand(1);
  AddGenerate(verbs, *group);
  AddReader(verbs, *group, "list", "List CDI devices, the files that declare them, and conflicts",
            &RunSpecList);
  AddReader(verbs, *group, "check",
            "Tell whether every node, library and file that the specs name is on this host",
            &RunSpecCheck);
}

}  // namespace kgpu::cli
