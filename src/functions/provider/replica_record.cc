#include "src/functions/provider/replica_record.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/json/value.hpp>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/state_file.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;

// A process that a later one with its number cannot be taken for.
struct RecordedPid {
  int64_t pid = 0;
  uint64_t start_time = 0;  // in clock ticks since boot
};

struct Record {
  FoundContainer container{};
  RecordedPid process{};
};

// The folder is on a file system that each boot makes again.
sys::StateFile FileOf(const ProviderFolders& folders, std::string_view replica) {
  return {fmt::format("{}/{}/container.json", folders.run, replica),
          {.durability = sys::Durability::kMemory}};
}

// 0: there is no such process. Source: proc(5), /proc/<pid>/stat, field 22.
uint64_t StartTimeOf(int64_t pid) {
  constexpr size_t kStartTime = 19;  // of the fields after the name, which may have blanks in it
  const StatusOr<sys::Root> proc = sys::Root::Open("/proc");
  const StatusOr<std::string> text =
      proc.ok() ? proc->ReadFile(fmt::format("{}/stat", pid)) : proc.status();
  if (!text.ok()) {
    return 0;
  }
  const size_t name_end = text->rfind(')');
  const std::vector<std::string_view> fields =
      Words(std::string_view(*text).substr(name_end == std::string::npos ? 0 : name_end + 1));
  return fields.size() > kStartTime ? ParseUint(fields[kStartTime]).value_or(0) : 0;
}

StatusOr<Record> ParseRecord(std::string_view text, const std::string& where) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(text, where, {}));
  doc::Fields fields(root, where);
  Record record;
  record.container = {.name = fields.Text("name"),
                      .function = fields.Text("function"),
                      .replica = fields.Text("replica"),
                      .loan = fields.Text("loan"),
                      .hash = fields.Text("hash")};
  record.process.pid = fields.Number("pid");
  record.process.start_time = static_cast<uint64_t>(fields.Number("startTime"));
  RETURN_IF_ERROR(fields.status());
  return record;
}

std::optional<Record> ReadRecord(const ProviderFolders& folders, std::string_view replica) {
  const sys::StateFile file = FileOf(folders, replica);
  auto record = file.Read([&](std::string_view text) { return ParseRecord(text, file.path()); });
  if (!record.ok()) {
    KGPU_LOG(kWarning, "record of a replica not read", {"reason", Message(record.status())});
    return std::nullopt;
  }
  const bool is_of_folder = *record && (*record)->container.replica == replica;
  return is_of_folder ? *std::move(record) : std::nullopt;
}

// Invalid: it has ended.
UniqueFd Open(const RecordedPid& process) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0)));
  // In this order: the number cannot change hands between the two.
  const bool is_same = pidfd.is_valid() && StartTimeOf(process.pid) == process.start_time;
  pollfd polled = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return is_same && poll(&polled, 1, 0) == 0 ? std::move(pidfd) : UniqueFd();
}

}  // namespace

Status WriteReplicaRecord(const ProviderFolders& folders, const FoundContainer& container) {
  const uint64_t start_time = container.pid == 0 ? 0 : StartTimeOf(container.pid);
  return FileOf(folders, container.replica)
      .Write(doc::PrintLine(boost::json::object{{"name", container.name},
                                                {"function", container.function},
                                                {"replica", container.replica},
                                                {"loan", container.loan},
                                                {"hash", container.hash},
                                                {"pid", start_time == 0 ? 0 : container.pid},
                                                {"startTime", start_time}}));
}

std::vector<FoundContainer> RecordedContainers(const ProviderFolders& folders) {
  std::vector<FoundContainer> containers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folders.run, error)) {
    if (std::optional<Record> record = ReadRecord(folders, entry.path().filename().native())) {
      FoundContainer& container = record->container;
      container.is_running = record->process.pid != 0 && Open(record->process).is_valid();
      container.pid = container.is_running ? record->process.pid : 0;
      containers.push_back(std::move(container));
    }
  }
  return containers;
}

RecordedProcess StateOfRecorded(const ProviderFolders& folders, const std::string& replica) {
  const std::optional<Record> record = ReadRecord(folders, replica);
  if (!record || record->process.pid == 0) {
    return RecordedProcess::kUnknown;
  }
  return Open(record->process).is_valid() ? RecordedProcess::kRuns : RecordedProcess::kGone;
}

void KillRecorded(const ProviderFolders& folders, const std::string& replica) {
  const std::optional<Record> record = ReadRecord(folders, replica);
  if (!record || record->process.pid == 0) {
    return;
  }
  if (const UniqueFd pidfd = Open(record->process); pidfd.is_valid()) {
    KGPU_LOG(kWarning, "container killed, which podman does not remove",
             {"container", record->container.name}, {"pid", record->process.pid});
    (void)syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }
}

}  // namespace kgpu::functions
