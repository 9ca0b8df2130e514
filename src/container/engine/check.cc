#include "src/container/engine/check.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/container/cdi/check.h"
#include "src/container/cdi/folder.h"
#include "src/container/engine/apply.h"
#include "src/container/engine/daemon_flags.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/find.h"
#include "src/container/engine/k3s_runtimes.h"
#include "src/container/engine/obstacles.h"
#include "src/container/engine/runtimes.h"
#include "src/container/inject/index.h"
#include "src/container/shim/config.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/edit/document.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;

constexpr const char* kGenerate = "kgpu cdi generate   # or run kgpu agent";
constexpr const char* kFixFile = "# fix the file: the engine would not start";

// Programs that `tree` names as kgpu's runtime, or NVIDIA's.
void FindRuntimes(const json::value& tree, std::set<std::string>& paths) {
  if (const json::string* text = tree.if_string(); text != nullptr) {
    const std::filesystem::path path(std::string(text->data(), text->size()));
    const std::string name = path.filename();
    if (name == "kgpu-runtime" || name.starts_with("nvidia-container-runtime")) {
      paths.insert(path.string());
    }
  } else if (tree.is_object()) {
    for (const auto& item : tree.get_object()) {
      FindRuntimes(item.value(), paths);
    }
  } else if (tree.is_array()) {
    for (const json::value& item : tree.get_array()) {
      FindRuntimes(item, paths);
    }
  }
}

// Folders that look like the engine's, and into which NVIDIA's toolkit has written.
std::string_view FolderOfSlips(Kind kind) {
  switch (kind) {
    case Kind::kContainerd:
      return "/etc/containerd/config.d";
    case Kind::kCrio:
      return "/etc/crio/conf.d";
    case Kind::kDocker:
    case Kind::kPodman:
      break;
  }
  return {};
}

// By the PCI bus or, where there is none, by the driver.
bool HasNvidiaGpu(const sys::Root& host) {
  for (const char* path :
       {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"}) {
    if (host.Exists(path)) {
      return true;
    }
  }
  const std::string folder = "sys/bus/pci/devices";
  const auto names = host.ListDir(folder);
  return names.ok() && std::ranges::any_of(*names, [&](const std::string& name) {
           const auto vendor = host.ReadFile(fmt::format("{}/{}/vendor", folder, name));
           return vendor.ok() && Trim(*vendor) == "0x10de";
         });
}

class Checker {
 public:
  Checker(const sys::Root& host, sys::ProgramRunner& runner, const CheckInput& input)
      : host_(host), runner_(runner), input_(input), engine_(*input.engine) {}

  std::vector<report::Finding> Check() {
    CheckRecord();
    CheckFiles();
    if (is_cri_off_) {
      CheckDaemon();
      AddUnchecked();
      report::SortWorstFirst(findings_);
      return std::move(findings_);
    }
    CheckRuntimes();
    CheckDaemon();
    if (ReadsCdi()) {
      CheckCdi();
    }
    if (!runtimes_.empty()) {
      CheckIndex();
    }
    AddUnchecked();
    if (!ReadsCdi() && runtimes_.empty()) {
      Add("engine-gives-no-gpu",
          engine_.version
              ? fmt::format(
                    "{} {} does not support CDI and has no kgpu runtime: its containers get no GPU",
                    engine_.Name(), engine_.version_text)
              : fmt::format("{}: CDI support is unknown, and it has no kgpu runtime",
                            engine_.note.empty() ? engine_.Name() : engine_.note),
          {Configure()});
    }
    report::SortWorstFirst(findings_);
    return std::move(findings_);
  }

 private:
  void Add(std::string id, std::string message, std::vector<std::string> commands) {
    findings_.push_back({.id = std::move(id),
                         .subject = engine_.Name(),
                         .message = std::move(message),
                         .fix = {.commands = std::move(commands)}});
  }

  std::string Configure() const {
    return fmt::format("kgpu runtime configure --engine {}", engine_.distribution.empty()
                                                                 ? ToString(engine_.kind)
                                                                 : engine_.distribution);
  }

  bool ReadsCdi() const {
    if (input_.live && input_.live->ok() && (*input_.live)->reads_cdi) {
      return *(*input_.live)->reads_cdi;
    }
    const bool was_switched_on = input_.record != nullptr && input_.record->expected.cdi == true;
    return engine_.cdi == CdiSupport::kAlways || engine_.cdi == CdiSupport::kDefault ||
           was_switched_on;
  }

  void CheckRecord() {
    if (input_.record == nullptr) {
      return;
    }
    if (input_.record->phase != Phase::kApplied) {
      Add("change-unfinished", "an earlier change was interrupted",
          {Configure() + "   # resumes it", "# or undo it with kgpu runtime revert"});
      return;
    }
    // What cannot be reverted was changed by somebody else.
    const auto way_back = PlanRevert(host_, engine_.Id(), *input_.record, &engine_);
    if (!way_back.ok()) {
      return;  // other findings report a broken file
    }
    for (const std::string_view note : way_back->notes) {
      if (note.find(" is not empty: ") != std::string_view::npos) {
        continue;  // a table of ours that others put keys into
      }
      is_changed_since_ = true;
      Add("config-changed", std::string(note.substr(0, note.find(": left "))),
          {Configure() + "   # sets it again", "# or undo the rest with kgpu runtime revert"});
    }
  }

  void CheckFiles() {
    const auto files = ReadEngineFiles(host_, engine_);
    if (!files.ok()) {
      Add("config-broken", std::string(Message(files.status())), {"# fix the file"});
      return;
    }
    std::vector<NamedText> texts = InOrder(engine_, *files);
    texts.push_back({engine_.config_file, files->main.value_or("")});
    texts.push_back({engine_.generated_file, files->generated.value_or("")});
    bool is_healthy = true;
    std::set<std::string> seen;
    for (const NamedText& text : texts) {
      if (!seen.insert(text.path).second) {
        continue;
      }
      const auto document =
          edit::Document::Open(text.text, text.path, SyntaxOf(engine_, text.path));
      if (document.ok()) {
        FindRuntimes(document->tree(), runtimes_);
      } else {
        is_healthy = false;
        Add("config-broken", std::string(Message(document.status())), {kFixFile});
      }
    }
    CheckUnread(seen);
    if (is_healthy) {
      CheckFlags(*files);
      CheckTables(*files);
    }
    if (const Status status = Validate(engine_, host_, runner_); is_healthy && !status.ok()) {
      if (engine_.is_daemon_known) {
        Add("config-refused", std::string(Message(status)), {kFixFile});
      } else {
        unchecked_.push_back(fmt::format("whether its files are valid: {}", Message(status)));
      }
    }
  }

  // dockerd does not start if a key of its file is a flag, too.
  void CheckFlags(const EngineFiles& files) {
    if (engine_.kind != Kind::kDocker) {
      return;
    }
    const auto document =
        edit::Document::Open(files.main.value_or(""), engine_.config_file, edit::Syntax::kJson);
    std::vector<std::string> keys;
    for (const auto& field : document->tree().get_object()) {
      keys.emplace_back(field.key());
    }
    for (const auto& [flag, key] : FindConflicts(ReadDaemonFlags(host_, engine_), keys)) {
      Add("config-refused",
          fmt::format("{}: {} and {} of {} cannot be given together: dockerd does not start",
                      flag.where, flag.Text(), key, engine_.config_file),
          {fmt::format("# remove one of them, then: {}", StartCommand(host_, engine_))});
    }
  }

  // `read`: the files that the engine reads.
  void CheckUnread(const std::set<std::string>& read) {
    const std::string_view folder = FolderOfSlips(engine_.kind);
    if (folder.empty() || !engine_.distribution.empty()) {
      return;
    }
    const auto names = host_.ListDir(folder);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      const std::string path = fmt::format("{}/{}", folder, name);
      if (!read.contains(path) && (name.ends_with(".toml") || name.ends_with(".conf"))) {
        Add("config-not-read",
            fmt::format("{}: {} does not read files of this folder", path, engine_.Name()),
            {fmt::format("# move it to {}, or remove it", engine_.drop_in_folder)});
        findings_.back().severity = report::Severity::kInfo;
      }
    }
  }

  // The runtimes of its tables, and whether a kubelet can use it at all.
  void CheckTables(const EngineFiles& files) {
    if (const auto disabled = FindDisabledCri(engine_, files); disabled.ok() && *disabled) {
      is_cri_off_ = true;
      const bool is_needed = HasKubelet(host_) && !engine_.is_spare &&
                             host::FindSystemDaemons(host_, {"dockerd", "crio"}).empty();
      Add("cri-disabled",
          fmt::format(
              "{}: its CRI plugin is disabled: no kubelet can use it, which is fine if only "
              "docker does",
              **disabled),
          {"# remove the plugin from disabled_plugins, then: " + CommandFor(host_, engine_, true)});
      findings_.back().severity = is_needed ? report::Severity::kError : report::Severity::kInfo;
    }
    if (const auto newer = FindNewerImport(engine_, files); newer.ok() && *newer) {
      Add("config-refused", **newer,
          {"# migrate the main file with containerd config migrate, or write the other one for its "
           "version"});
    }
    const auto tables = RuntimeTables::Read(engine_, files, ReadDaemonFlags(host_, engine_));
    if (!tables.ok()) {
      return;
    }
    const auto missing = ExplainMissingDefault(host_, engine_, *tables);
    if (missing && !runtimes_.contains(tables->FindDefault().program)) {
      Add("runtime-missing", *missing, {"# install it, or choose another default runtime"});
    }
    const std::string name = input_.record == nullptr ? "nvidia" : input_.record->expected.runtime;
    const auto own = FindK3sRuntime(host_, engine_, files, name);
    if (own.ok() && *own && tables->Find(name).IsOurs() && !HasOnlyDropIn(engine_)) {
      Add("runtime-twice", std::string(Message(TwiceError(engine_, **own))),
          {fmt::format("kgpu runtime revert --engine {}", engine_.distribution),
           "# or uninstall the other one, before the next start"});
    }
  }

  void CheckRuntimes() {
    for (const std::string& path : runtimes_) {
      const std::string program = path.starts_with('/') ? path : sys::FindProgram(host_, path);
      sys::RunRequest request;
      request.argv = {program, "--version"};
      request.root = host_.path();
      if (program.empty() || !host_.Exists(program)) {
        Add("runtime-missing",
            fmt::format("{} is configured as a runtime but does not exist", path), {Configure()});
        continue;
      }
      const auto result = runner_.Run(request);
      if (result.ok() && result->IsSuccess()) {
        continue;
      }
      const std::string why =
          result.ok() ? sys::Describe(*result) : std::string(Message(result.status()));
      if (engine_.is_daemon_known) {
        Add("runtime-broken", fmt::format("{} does not run: {}", program, why),
            {Configure() + "   # looks for the engine's own runtime",
             "# or install runc, or fix \"runtimes\" of /etc/kgpu/runtime.json"});
      } else {
        unchecked_.push_back(fmt::format("whether {} runs: {}", program, why));
      }
    }
  }

  // Programs that fail below a root without a procfs may run well on the host itself.
  void AddUnchecked() {
    if (unchecked_.empty()) {
      return;
    }
    Add("not-checked",
        fmt::format("some checks were skipped: {} is not a running host's /proc", host_.At("proc")),
        {fmt::format("# run kgpu on the host itself, or mount its /proc at {}", host_.At("proc"))});
    findings_.back().severity = report::Severity::kInfo;
    findings_.back().evidence = std::move(unchecked_);
  }

  void CheckDaemon() {
    if (engine_.kind == Kind::kPodman) {
      return;
    }
    if (!engine_.daemon && !engine_.is_daemon_known) {
      unchecked_.push_back(
          fmt::format("whether {} runs, and with the settings of its files", engine_.Name()));
      return;
    }
    if (!engine_.daemon) {
      Add("engine-stopped",
          fmt::format("{} is not running{}", engine_.Name(),
                      engine_.is_spare ? ", which is fine if another engine is used" : ""),
          {StartCommand(host_, engine_)});
      findings_.back().severity =
          engine_.is_spare ? report::Severity::kInfo : report::Severity::kError;
      return;
    }
    if (input_.live && !input_.live->ok()) {
      Add("engine-silent",
          fmt::format("{} does not answer: {}", engine_.Name(), Message(input_.live->status())),
          {CommandFor(host_, engine_, true)});
      return;
    }
    CheckInForce();
  }

  // The engine's report decides; if it has none, the times of file and start do.
  void CheckInForce() {
    const Record* record = input_.record;
    if (is_changed_since_) {
      return;  // so what it should show is unknown
    }
    std::string message;
    bool takes_restart = true;
    if (record != nullptr && input_.live && !Shows(**input_.live, record->expected)) {
      message = fmt::format("runs without settings from its files: {}", record->reach_reason);
      takes_restart = record->pending != Reach::kReload;
    } else if (record != nullptr && PendingReach(*record, engine_) == Reach::kRestart) {
      message =
          fmt::format("has not been restarted since its files changed: {}", record->reach_reason);
    } else if (engine_.kind != Kind::kDocker && IsFileNewer()) {
      message = fmt::format("was started before {} changed and still runs the old one",
                            engine_.config_file);
    }
    if (!message.empty()) {
      Add("config-not-in-force", fmt::format("{} {}", engine_.Name(), message),
          {CommandFor(host_, engine_, takes_restart)});
    }
  }

  bool IsFileNewer() const {
    if (!engine_.daemon) {
      return false;
    }
    const auto file = host_.Stat(engine_.config_file);
    // Starts are known to a second or two.
    const auto started = engine_.daemon->started + std::chrono::seconds(2);
    return file.ok() && engine_.generated_file.empty() &&
           TimeAt(std::chrono::seconds(file->st_mtim.tv_sec)) > started;
  }

  void CheckCdi() {
    const cdi::FolderContents contents = cdi::ReadFolders(
        host_, {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)});
    const sys::Root& root = input_.engine_root == nullptr ? host_ : *input_.engine_root;
    bool has_gpu = false;
    for (const cdi::SpecFile& file : contents.files) {
      has_gpu |= file.problem.empty() && file.spec.kind.ends_with("/gpu");
      for (const report::Finding& finding : cdi::CheckSpec(file.spec, root)) {
        if (file.problem.empty()) {
          Add(finding.id, fmt::format("{}: {}", file.path, finding.message), {kGenerate});
        }
      }
      if (!file.problem.empty()) {
        Add("cdi-broken", file.problem, {"# fix or remove it"});
      }
    }
    if (!has_gpu && HasNvidiaGpu(host_)) {
      Add("cdi-missing", "no CDI spec declares a GPU", {kGenerate});
    } else if (!has_gpu) {
      Add("cdi-missing", "no CDI spec declares a GPU, and this host shows none of NVIDIA's",
          {kGenerate});
      findings_.back().severity = report::Severity::kInfo;
    }
    for (const cdi::Conflict& conflict : contents.conflicts) {
      Add("cdi-declared-twice",
          fmt::format("{}: declared by {}: container engines reject it", conflict.name,
                      Join(conflict.paths, " and ")),
          {"# remove all but one"});
    }
  }

  void CheckIndex() {
    const auto text = host_.ReadFile(inject::kInjectionIndexPath, size_t{16} << 20);
    if (!text.ok()) {
      Add("injection-missing",
          fmt::format("{}: not found, so kgpu-runtime does not know this host's GPUs",
                      inject::kInjectionIndexPath),
          {kGenerate});
      return;
    }
    const auto index = inject::ParseIndex(*text, host_.At(inject::kInjectionIndexPath));
    if (!index.ok()) {
      Add("injection-broken", std::string(Message(index.status())), {kGenerate});
    }
  }

  const sys::Root& host_;
  sys::ProgramRunner& runner_;
  const CheckInput& input_;
  const Engine& engine_;
  std::set<std::string> runtimes_;
  bool is_cri_off_ = false;
  bool is_changed_since_ = false;       // by others, after kgpu wrote it
  std::vector<std::string> unchecked_;  // what cannot be checked from here
  std::vector<report::Finding> findings_;
};

}  // namespace

std::vector<report::Finding> CheckEngine(const sys::Root& host, sys::ProgramRunner& runner,
                                         const CheckInput& input) {
  return Checker(host, runner, input).Check();
}

std::vector<report::Finding> CheckShim(const sys::Root& host) {
  const StatusOr<shim::Config> config = shim::ReadConfig(host);
  if (!config.ok()) {
    return {{.id = "config-broken",
             .subject = std::string(kShimId),
             .message =
                 fmt::format("{}: containers that use it do not start", Message(config.status())),
             .fix = {.commands = {"# fix the file, or remove it and run kgpu runtime configure"}}}};
  }
  if (!config->cuda_compat.empty() && !host.Exists(config->cuda_compat)) {
    return {{.id = "cuda-compat-missing",
             .subject = std::string(kShimId),
             .message = fmt::format("{}: cudaCompat: {}: not found", shim::kConfigPath,
                                    config->cuda_compat),
             .fix = {.commands = {"# install a cuda-compat package there, or set it to \"\""}}}};
  }
  return {};
}

}  // namespace kgpu::engine
