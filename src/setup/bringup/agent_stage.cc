#include "src/setup/bringup/agent_stage.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "src/host/change/boot_unit.h"
#include "src/host/change/fingerprint.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/commands/exit_code.h"
#include "src/platform/sys/systemctl.h"
#include "src/setup/bringup/record.h"

namespace kgpu::bringup {
namespace {

// kgpu-runtime is put there by `kgpu runtime configure`, where an engine needs it.
constexpr std::array<std::string_view, 3> kPrograms = {"kgpu", "kgpu-probe", "kgpu-cuda"};
constexpr size_t kMostProgram = size_t{256} << 20;
constexpr char kUnitName[] = "kgpu-agent.service";

// Where packages put units. Source: systemd.unit(5), "Unit File Load Path".
constexpr std::array<std::string_view, 3> kPackageFolders = {
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"};

std::string LibraryPath() {
  return fmt::format("{}/libkgpu-share.so", kLibraryFolder);
}

bool IsOurs(const Record& record, const std::string& path, const std::string& text) {
  const auto ours = record.files.find(path);
  return ours != record.files.end() && change::IsAmong(ours->second, text);
}

class AgentStage final : public Stage {
 public:
  explicit AgentStage(const AgentInput& input) : in_(input) {}

  std::string_view id() const override { return "agent"; }
  std::string_view title() const override { return "the agent of this node"; }
  bool LeavesTraces() const override { return true; }
  bool HasTraces() const override;
  Status Begin() override;
  Status End() override;
  Look LookAt() override;
  StatusOr<std::string> Preview() override;
  StatusOr<std::string> PreviewUndo() override;
  StatusOr<Outcome> Do() override;
  StatusOr<Outcome> Undo() override;

 private:
  // Files that the service needs, by their path on the host.
  StatusOr<std::map<std::string, std::string>> Wanted() const;
  // The wanted files that are missing or differ. Errors: AlreadyExists (not ours).
  StatusOr<std::vector<std::string>> Missing(const std::map<std::string, std::string>& wanted,
                                             const Record& record) const;
  StatusOr<std::string> TextAt(const std::string& path) const;
  std::string UnitText() const;
  // Whether a package brought the unit that runs these very programs.
  bool HasPackagedUnit() const;
  bool HasUnit() const { return in_.host.Exists(kAgentUnit) || HasPackagedUnit(); }
  bool IsAnswering() const;
  // Errors: FailedPrecondition (no systemctl here, or what it says).
  Status Systemctl(std::vector<std::string> words) const;
  Status Put(const std::string& path, const std::string& text, Record& record);
  Status RemoveFiles(Record& record);

  AgentInput in_;
};

Status AgentStage::Systemctl(std::vector<std::string> words) const {
  sys::RunRequest request;
  ASSIGN_OR_RETURN(request.argv, sys::SystemctlCommand(in_.host, words));
  request.root = in_.host.path();
  request.deadline = std::chrono::minutes(2);
  ASSIGN_OR_RETURN(const sys::RunResult result, in_.runner.Run(request));
  return result.IsSuccess()
             ? OkStatus()
             : FailedPrecondition("systemctl {}: {}; see journalctl -u {}", Join(words, " "),
                                  sys::Describe(result), words.back());
}

std::string AgentStage::UnitText() const {
  std::string text(AgentUnitText());
  if (in_.is_installed && in_.folder != kProgramFolder) {
    const std::string from = fmt::format("{}/kgpu ", kProgramFolder);
    if (const size_t at = text.find(from); at != std::string::npos) {
      text.replace(at, from.size(), in_.folder + "/kgpu ");
    }
  }
  return text;
}

bool AgentStage::HasPackagedUnit() const {
  return in_.is_installed && !in_.host.Exists(kAgentUnit) &&
         std::ranges::any_of(kPackageFolders, [this](std::string_view folder) {
           return in_.host.Exists(fmt::format("{}/{}", folder, kUnitName));
         });
}

StatusOr<std::map<std::string, std::string>> AgentStage::Wanted() const {
  std::map<std::string, std::string> wanted;
  if (!HasPackagedUnit()) {
    wanted.emplace(kAgentUnit, UnitText());
  }
  if (in_.is_installed) {
    return wanted;
  }
  ASSIGN_OR_RETURN(const sys::Root ours, sys::Root::Open(in_.folder));
  for (const std::string_view program : kPrograms) {
    ASSIGN_OR_RETURN(std::string bytes, ours.ReadFile(program, kMostProgram));
    wanted.emplace(fmt::format("{}/{}", kProgramFolder, program), std::move(bytes));
  }
  if (!in_.share_library.empty()) {
    const std::filesystem::path library(in_.share_library);
    ASSIGN_OR_RETURN(const sys::Root folder, sys::Root::Open(library.parent_path().string()));
    ASSIGN_OR_RETURN(std::string bytes, folder.ReadFile(library.filename().string(), kMostProgram));
    wanted.emplace(LibraryPath(), std::move(bytes));
  }
  return wanted;
}

// Empty where nothing is.
StatusOr<std::string> AgentStage::TextAt(const std::string& path) const {
  auto text = in_.host.ReadFile(path, kMostProgram);
  return text.status().code() == StatusCode::kNotFound ? StatusOr<std::string>("") : text;
}

StatusOr<std::vector<std::string>> AgentStage::Missing(
    const std::map<std::string, std::string>& wanted, const Record& record) const {
  std::vector<std::string> missing;
  for (const auto& [path, text] : wanted) {
    ASSIGN_OR_RETURN(const std::string there, TextAt(path));
    if (there == text) {
      continue;
    }
    if (!there.empty() && !IsOurs(record, path, there)) {
      return AlreadyExists(
          "{}: already exists and was not written by kgpu node up: remove it, or skip this stage "
          "with --skip agent",
          in_.host.At(path));
    }
    missing.push_back(path);
  }
  return missing;
}

bool AgentStage::IsAnswering() const {
  Words words = {"status"};
  if (in_.host.path() != "/") {  // its own agent, not the one of the system that we run on
    words.insert(words.end(), {"--run-dir", in_.host.At("/run/kgpu")});
  }
  const auto reported = in_.commands.Run(words, false);
  constexpr int kFailures = static_cast<int>(commands::ExitCode::kUnhealthy);
  return reported.ok() && (reported->IsSuccess() || reported->exit.code == kFailures);
}

// Files that still have to be removed. Undo reports one that cannot be read.
bool AgentStage::HasTraces() const {
  const auto record = ReadRecord(in_.host);
  return !record.ok() || !record->files.empty() || record->has_enabled_unit;
}

Status AgentStage::Begin() {
  if (HasUnit() || !IsAnswering()) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Record record, ReadRecord(in_.host));
  if (record.has_others_agent) {
    return OkStatus();
  }
  record.has_others_agent = true;
  return WriteRecord(in_.disk, record);
}

Status AgentStage::End() {
  ASSIGN_OR_RETURN(Record record, ReadRecord(in_.host));
  if (!record.has_others_agent) {
    return OkStatus();
  }
  record.has_others_agent = false;
  return WriteRecord(in_.disk, record);
}

Look AgentStage::LookAt() {
  const bool is_answering = IsAnswering();
  const bool has_unit = HasUnit();
  const auto record = ReadRecord(in_.host);
  if (is_answering && !has_unit) {
    return {Condition::kReady,
            "the running agent is not a service of this host, and is left running"};
  }
  if (record.ok() && record->has_others_agent && !has_unit) {
    return {Condition::kReady,
            "an agent that is not a service of this host was running before and will come back by "
            "itself; if it does not, run kgpu node up again"};
  }
  if (!sys::HasSystemd(in_.host)) {
    return {Condition::kBlocked,
            "systemd does not run on this host: run `kgpu agent` with its service manager, or "
            "apply the DaemonSet in deploy/manifests"};
  }
  const auto wanted = Wanted();
  const Status read = record.ok() ? wanted.status() : record.status();
  const auto missing = read.ok() ? Missing(*wanted, *record) : read;
  if (!missing.ok()) {
    return {Condition::kBlocked, std::string(Message(missing.status()))};
  }
  if (!missing->empty()) {
    return {Condition::kNeeded, ""};
  }
  return is_answering ? Look{Condition::kReady, ""} : Look{Condition::kNeeded, "it is not running"};
}

StatusOr<std::string> AgentStage::Preview() {
  ASSIGN_OR_RETURN(const Record record, ReadRecord(in_.host));
  ASSIGN_OR_RETURN(const auto wanted, Wanted());
  ASSIGN_OR_RETURN(const std::vector<std::string> missing, Missing(wanted, record));
  std::string text;
  for (const std::string& path : missing) {
    text += fmt::format("write {} ({} bytes)\n", path, wanted.at(path).size());
  }
  return text +
         "systemctl daemon-reload\nsystemctl enable kgpu-agent.service\n"
         "systemctl restart kgpu-agent.service\n";
}

StatusOr<std::string> AgentStage::PreviewUndo() {
  ASSIGN_OR_RETURN(const Record record, ReadRecord(in_.host));
  std::string text = "systemctl disable --now kgpu-agent.service\n";
  for (const auto& [path, prints] : record.files) {
    text += fmt::format("remove {}\n", path);
  }
  return text;
}

// Noted before it is written: killed in between, what is there is known to be ours, old or new.
Status AgentStage::Put(const std::string& path, const std::string& text, Record& record) {
  std::vector<std::string>& prints = record.files[path];
  constexpr size_t kMostKept = 8;  // a run that dies again and again
  if (prints.size() >= kMostKept) {
    prints.erase(prints.begin());
  }
  prints.push_back(change::Fingerprint(text));
  RETURN_IF_ERROR(WriteRecord(in_.disk, record));
  if (path == LibraryPath()) {
    RETURN_IF_ERROR(in_.disk.MakeFolder(std::filesystem::path(kLibraryFolder).parent_path()));
    RETURN_IF_ERROR(in_.disk.MakeFolder(std::string(kLibraryFolder)));
  }
  const mode_t mode = path == kAgentUnit || path == LibraryPath() ? 0644 : 0755;
  return in_.disk.Write(path, text, mode);
}

StatusOr<Outcome> AgentStage::Do() {
  ASSIGN_OR_RETURN(Record record, ReadRecord(in_.host));
  ASSIGN_OR_RETURN(const auto wanted, Wanted());
  ASSIGN_OR_RETURN(const std::vector<std::string> missing, Missing(wanted, record));
  for (const std::string& path : missing) {
    RETURN_IF_ERROR(Put(path, wanted.at(path), record));
  }
  if (HasPackagedUnit()) {
    record.has_enabled_unit = true;
    RETURN_IF_ERROR(WriteRecord(in_.disk, record));
  }
  RETURN_IF_ERROR(Systemctl({"daemon-reload"}));
  RETURN_IF_ERROR(Systemctl({"enable", kUnitName}));
  RETURN_IF_ERROR(Systemctl({"restart", kUnitName}));
  return Outcome{};
}

Status AgentStage::RemoveFiles(Record& record) {
  for (const auto& [path, prints] : std::map(record.files)) {
    ASSIGN_OR_RETURN(const std::string there, TextAt(path));
    if (!there.empty() && IsOurs(record, path, there)) {
      RETURN_IF_ERROR(in_.disk.Remove(path));
    }
    if (path == LibraryPath()) {
      RETURN_IF_ERROR(in_.disk.RemoveFolder(std::string(kLibraryFolder)));
    }
    record.files.erase(path);
    RETURN_IF_ERROR(WriteRecord(in_.disk, record));
  }
  return OkStatus();
}

StatusOr<Outcome> AgentStage::Undo() {
  ASSIGN_OR_RETURN(Record record, ReadRecord(in_.host));
  // In an image of a host that was brought up, for example, nothing runs that could be stopped.
  const bool has_systemd = sys::HasSystemd(in_.host);
  if (has_systemd && (in_.host.Exists(kAgentUnit) || record.has_enabled_unit)) {
    RETURN_IF_ERROR(Systemctl({"disable", "--now", kUnitName}));
  }
  if (!has_systemd && HasTraces()) {
    RETURN_IF_ERROR(in_.disk.Remove(change::BootUnitLink(kUnitName)));  // made by enabling it
  }
  RETURN_IF_ERROR(RemoveFiles(record));
  record.has_enabled_unit = false;
  RETURN_IF_ERROR(WriteRecord(in_.disk, record));
  if (has_systemd) {
    RETURN_IF_ERROR(Systemctl({"daemon-reload"}));
  }
  return Outcome{};
}

}  // namespace

std::unique_ptr<Stage> MakeAgentStage(const AgentInput& input) {
  return std::make_unique<AgentStage>(input);
}

}  // namespace kgpu::bringup
