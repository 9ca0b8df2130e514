#include "src/cli/base/commands.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/host_options.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/cdi/cdi_folders.h"
#include "src/cli/cdi/cdi_view.h"
#include "src/container/cdi/check.h"
#include "src/container/cdi/folder.h"
#include "src/container/cdi/names.h"
#include "src/container/cdi/publisher.h"
#include "src/container/cdi/spec_text.h"
#include "src/container/inject/build_specs.h"
#include "src/container/inject/companion_specs.h"
#include "src/container/inject/index_file.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/report/print.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

struct GenerateOptions {
  HostOptions host;
  std::string output_dir;
  std::string format = "json";
  std::string output = "table";
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

// A driver that does not answer says nothing about the GPUs: an existing spec stays.
Status RefuseWithoutDriver(const device::Driver& driver) {
  if (driver.state == device::DriverState::kReady) {
    return OkStatus();
  }
  return FailedPrecondition("no spec written: {}", driver.reason);
}

// How the result of a publication is printed.
struct Printing {
  OutputFormat format = OutputFormat::kTable;
  bool is_watch = false;  // says nothing where nothing changed; one line of JSON for each change
};

// One of several documents.
std::string DocumentText(OutputFormat format, const boost::json::object& json) {
  return format == OutputFormat::kJson ? doc::PrintLine(json) + "\n"
                                       : "---\n" + Render(json, format);
}

// Paths in `report` are as we see them.
Status PrintPublished(const cdi::PublishReport& report, const Printing& printing) {
  const bool is_same = report.written.empty() && report.removed.empty();
  if (printing.format != OutputFormat::kTable) {
    const boost::json::object json{{"written", doc::Texts(report.written)},
                                   {"removed", doc::Texts(report.removed)},
                                   {"notes", doc::Texts(report.notes)},
                                   {"findings", report::FindingsJson(report.findings)}};
    if (printing.is_watch) {
      return is_same ? OkStatus() : PrintOut(DocumentText(printing.format, json));
    }
    return PrintOut(Render(json, printing.format));
  }
  std::string text;
  for (const std::string& path : report.written) {
    text += fmt::format("wrote {}\n", path);
  }
  for (const std::string& path : report.removed) {
    text += fmt::format("removed {}\n", path);
  }
  if (!is_same || !printing.is_watch) {
    RETURN_IF_ERROR(PrintOut(is_same ? "no changes\n" : text));
    PrintNotes(report.notes);
  }
  for (const report::Finding& finding : report.findings) {
    PrintNote(report::LineOf(finding));
  }
  return OkStatus();
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

StatusOr<inject::SpecSet> GpuSpecsOf(const Generator& generator, const device::Snapshot& snapshot) {
  RETURN_IF_ERROR(RefuseWithoutDriver(snapshot.driver));
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    PrintNote(fmt::format("{}: skipped: {}", gpu.pci.str(), gpu.reason));
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

// Engines that read CDI do without the index, so a host that does not take it is only reported.
// Returns the path if the file is new.
std::optional<std::string> WriteIndex(const Generator& generator,
                                      const inject::InjectionIndex& index) {
  const StatusOr<bool> is_new = inject::WriteIndex(generator.root.host, index);
  if (!is_new.ok()) {
    PrintNote(fmt::format("kgpu-runtime cannot use these GPUs: {}", Message(is_new.status())));
    return std::nullopt;
  }
  return *is_new ? std::optional(generator.root.host.At(inject::kInjectionIndexPath))
                 : std::nullopt;
}

// `index` is a file that was written besides.
StatusOr<ExitCode> PublishSpecs(const Generator& generator, const std::vector<cdi::Spec>& specs,
                                const std::optional<std::string>& index, const Printing& printing) {
  cdi::Publisher publisher(generator.folders.root, generator.engine, generator.clock,
                           generator.publisher_options);
  ASSIGN_OR_RETURN(cdi::PublishReport report, publisher.Publish(specs));
  for (std::vector<std::string>* paths : {&report.written, &report.removed}) {
    for (std::string& path : *paths) {
      path = generator.folders.root.At(path);
    }
  }
  if (index) {
    report.written.push_back(*index);
  }
  RETURN_IF_ERROR(PrintPublished(report, printing));
  return ExitCodeOf(report::WorstOf(report.findings));
}

StatusOr<ExitCode> Publish(const Generator& generator, const device::Snapshot& snapshot,
                           const Printing& printing) {
  const std::vector<cdi::Spec> companions = CompanionSpecsOf(generator, snapshot);
  StatusOr<inject::SpecSet> set = GpuSpecsOf(generator, snapshot);
  if (!set.ok()) {
    // The parts that do not depend on the driver are still valid.
    const Printing quiet{.format = printing.format, .is_watch = true};
    RETURN_IF_ERROR(PublishSpecs(generator, companions, std::nullopt, quiet).status());
    return set.status();
  }
  set->specs.insert(set->specs.end(), companions.begin(), companions.end());
  return PublishSpecs(generator, set->specs, WriteIndex(generator, set->index), printing);
}

// Publishes after every change until interrupted. A host or folder that is bad for now is reported
// and tried again with the next change.
Status WatchSpecs(const GenerateOptions& options, const Generator& generator,
                  const Printing& printing) {
  return WatchSnapshots(options.host, generator.root, {.repeat = kLookAgain},
                        [&](const device::SnapshotPtr& snapshot) {
                          const auto done = Publish(generator, *snapshot, printing);
                          if (!done.ok()) {
                            PrintNote(Message(done.status()));
                          }
                          return true;
                        });
}

// `format`: of the output, kTable for the files' own.
StatusOr<ExitCode> DryRunSpecs(const Generator& generator, const device::Snapshot& snapshot,
                               OutputFormat format) {
  ASSIGN_OR_RETURN(const inject::SpecSet set, GpuSpecsOf(generator, snapshot));
  for (const cdi::Spec& spec : CompanionSpecsOf(generator, snapshot)) {
    if (!spec.devices.empty() && spec.kind.starts_with("kgpu.dev/")) {
      PrintNote(fmt::format("{} would also be declared",
                            cdi::QualifiedName(spec.kind, spec.devices.back().name)));
    }
  }
  // The second spec only repeats the first under NVIDIA's kind.
  if (set.specs.empty() || set.specs.front().devices.empty()) {
    PrintNote("no usable GPU: no spec would be written");
    return ExitCode::kUnhealthy;
  }
  const doc::Format shown = format == OutputFormat::kTable  ? generator.publisher_options.format
                            : format == OutputFormat::kJson ? doc::Format::kJson
                                                            : doc::Format::kYaml;
  RETURN_IF_ERROR(PrintOut(cdi::PrintSpec(set.specs.front(), shown)));
  PrintNote(fmt::format("{} for kgpu-runtime would have the same content",
                        generator.root.host.At(inject::kInjectionIndexPath)));
  return ExitCode::kOk;
}

StatusOr<ExitCode> RunGenerate(const GenerateOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  const Printing printing{.format = format, .is_watch = options.is_watch};
  ASSIGN_OR_RETURN(const Generator generator, MakeGenerator(options));
  if (options.is_watch) {
    return OkOr(WatchSpecs(options, generator, printing));
  }
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, generator.root));
  return options.is_dry_run ? DryRunSpecs(generator, *snapshot, format)
                            : Publish(generator, *snapshot, printing);
}

StatusOr<ExitCode> RunSpecList(const ReadOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const CdiFolders folders, FoldersToRead(options.host, options.spec_dirs));
  const cdi::FolderContents contents = cdi::ReadFolders(folders.root, folders.paths);
  RETURN_IF_ERROR(PrintAs(format, FoldersTable(contents), FoldersJson(contents)));
  const bool is_healthy = contents.conflicts.empty() && contents.problems.empty() &&
                          std::ranges::all_of(contents.files, [](const cdi::SpecFile& file) {
                            return file.problem.empty();
                          });
  return is_healthy ? ExitCode::kOk : ExitCode::kUnhealthy;
}

// A finding for each file engines would not use, each conflict, and all that specs name in vain.
NamedFindings CheckSpecs(const cdi::FolderContents& contents, const sys::Root& engine) {
  using Findings = std::vector<report::Finding>;
  NamedFindings checked;
  for (const cdi::SpecFile& file : contents.files) {
    Findings findings = file.problem.empty()
                            ? cdi::CheckSpec(file.spec, engine)
                            : Findings{{.id = "cdi-broken", .message = file.problem}};
    for (report::Finding& finding : findings) {
      finding.subject =
          finding.subject.empty() ? file.path : fmt::format("{} ({})", file.path, finding.subject);
    }
    checked.emplace_back(file.path, std::move(findings));
  }
  for (const auto& [name, paths] : contents.conflicts) {
    checked.emplace_back(
        paths.front(),
        Findings{{.id = "cdi-declared-twice",
                  .subject = fmt::format("{} ({})", paths.front(), name),
                  .message = fmt::format("also declared by {}: container engines reject it",
                                         fmt::join(paths.begin() + 1, paths.end(), " and by ")),
                  .fix = {.commands = {"# remove all but one"}}}});
  }
  for (const std::string& problem : contents.problems) {
    checked.emplace_back("", Findings{{.id = "cdi-folder-unread", .message = problem}});
  }
  return checked;
}

StatusOr<ExitCode> RunSpecCheck(const ReadOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const CdiFolders folders, FoldersToRead(options.host, options.spec_dirs));
  ASSIGN_OR_RETURN(const sys::Root engine, sys::Root::Open(root.engine_root));
  const cdi::FolderContents contents = cdi::ReadFolders(folders.root, folders.paths);
  if (contents.files.empty() && contents.problems.empty()) {
    return NotFound("no CDI spec in {}: run kgpu cdi generate", fmt::join(folders.paths, " or "));
  }
  return PrintNamedFindings(CheckSpecs(contents, engine), "matches this host", format);
}

void AddGenerate(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<GenerateOptions>(
      group, "generate", "Write the CDI specs that give containers this host's GPUs", &RunGenerate);
  command.footer(
      "Devices are named by index, UUID and \"all\"; MIG devices by UUID and \"GPU:INDEX\".\n"
      "The kind is kgpu.dev/gpu, and nvidia.com/gpu unless another file declares it.\n"
      "IMEX channels, GPUDirect Storage, GDRCopy and RDMA cards have their own kinds: "
      "kgpu.dev/imex-channel=0, kgpu.dev/gds=all, kgpu.dev/gdrcopy=all, kgpu.dev/mofed=all.\n"
      "\n"
      "  kgpu cdi generate --dry-run --format yaml\n"
      "  kgpu cdi generate --capabilities compute,utility,video\n"
      "  kgpu cdi generate --output json | jq -r '.written[]'\n"
      "  podman run --device kgpu.dev/gpu=0 IMAGE …");
  AddValue(command, "--output-dir", options.output_dir, "DIR",
           "Output folder (default: /var/run/cdi on the host)");
  AddValue(command, "--format", options.format, "json|yaml", "Format of the files");
  AddOutputOption(command, options.output, kOutputFormats,
                  "Output format of the result; with --dry-run, of the spec");
  AddValue(command, "--capabilities", options.capabilities, "LIST",
           "Driver capabilities for containers: compute, utility, graphics, video, display, ngx, "
           "compat32, or all");
  CLI::Option* dry_run =
      command.add_flag("--dry-run", options.is_dry_run, "Print the spec without writing it");
  command
      .add_flag("-w,--watch", options.is_watch,
                "Keep running and rewrite the specs after each change of GPUs or driver")
      ->excludes(dry_run);
  AddHostOptions(command, options.host);
}

void AddReader(CLI::App& command, ReadOptions& options) {
  AddOutputOption(command, options.output);
  AddValue(command, "--spec-dir", options.spec_dirs, "DIR",
           "Folders to read; later ones take precedence (default: /etc/cdi, /var/run/cdi)");
  AddHostOptions(command, options.host);
}

}  // namespace

void AddCdiCommands(CommandRegistrar& registrar) {
  CLI::App& group = registrar.AddGroup(
      "cdi", "Generate, list and check CDI specs, which give containers access to GPUs");
  group.footer(
      "  kgpu cdi generate\n"
      "  kgpu cdi list\n"
      "  kgpu cdi check");
  AddGenerate(registrar, group);
  auto [list, list_options] = registrar.Add<ReadOptions>(
      group, "list", "List CDI devices, the files that declare them, and conflicts", &RunSpecList);
  list.footer(
      "Exits 7 when a spec is broken or a device is declared twice.\n\n"
      "  kgpu cdi list\n"
      "  kgpu cdi list --spec-dir /etc/cdi --output json");
  AddReader(list, list_options);
  auto [check, check_options] = registrar.Add<ReadOptions>(
      group, "check",
      "Check that all device nodes, libraries and files in the specs exist on this host",
      &RunSpecCheck);
  check.footer(
      "Exits 7 when something is missing.\n\n"
      "  kgpu cdi check\n"
      "  kgpu cdi check --output json | jq '.findings[].message'");
  AddReader(check, check_options);
}

}  // namespace kgpu::cli
