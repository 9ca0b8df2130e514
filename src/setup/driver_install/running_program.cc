#include "src/setup/driver_install/running_program.h"

#include <unistd.h>

#include <boost/json/value.hpp>

#include <array>
#include <optional>
#include <string>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/sys/session.h"
#include "src/setup/driver_install/deeds.h"

namespace kgpu::driver_install {
namespace {

namespace json = boost::json;

constexpr mode_t kForRoot = 0600;

// Pids mean what they meant only in the same boot and the same namespace.
struct Noted {
  std::string program;
  pid_t pid = 0;
  uint64_t start = 0;
  std::string boot_id;
  std::string pids;  // "pid:[4026531836]"
};

// Of us: what /proc is to us, whatever host is worked on.
std::string PidNamespace() {
  std::array<char, 64> text = {};
  const ssize_t length = readlink("/proc/self/ns/pid", text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<size_t>(length)) : std::string();
}

std::string Print(const Noted& noted) {
  return doc::Print(json::object{{"program", doc::View(noted.program)},
                                 {"pid", noted.pid},
                                 {"start", static_cast<int64_t>(noted.start)},
                                 {"bootId", doc::View(noted.boot_id)},
                                 {"pids", doc::View(noted.pids)}},
                    doc::Format::kJson);
}

// Nothing where there is no note, or none that can be read: it is written whole or not at all.
std::optional<Noted> ReadNote(const sys::Root& host) {
  const auto text = host.ReadFile(kProgramFile);
  const auto tree = text.ok() ? doc::Parse(*text, doc::Format::kJson, kProgramFile)
                              : StatusOr<json::value>(text.status());
  if (!tree.ok()) {
    return std::nullopt;
  }
  doc::Fields fields(*tree, std::string(kProgramFile));
  Noted noted;
  noted.program = fields.Text("program");
  noted.pid = static_cast<pid_t>(fields.Number("pid"));
  noted.start = static_cast<uint64_t>(fields.Number("start"));
  noted.boot_id = fields.Text("bootId");
  noted.pids = fields.Text("pids");
  return fields.status().ok() && noted.pid > 1 ? std::optional(noted) : std::nullopt;
}

// Whether the note is of this boot and of processes that we see, and the pid is nobody else's.
bool IsOfNow(const Noted& noted, const sys::Root& host) {
  const auto leader = sys::StatOf(noted.pid);
  return noted.boot_id == BootId(host) && noted.pids == PidNamespace() &&
         (!leader || leader->start == noted.start);
}

Status WriteNote(const sys::RunRequest& request, pid_t pid, const sys::Root& host,
                 engine::Disk& disk) {
  const auto stat = sys::StatOf(pid);
  const Noted noted{.program = Printable(Join(request.argv, " "), 200),
                    .pid = pid,
                    .start = stat ? stat->start : 0,
                    .boot_id = BootId(host),
                    .pids = PidNamespace()};
  return disk.Write(std::string(kProgramFile), Print(noted), kForRoot);
}

}  // namespace

StatusOr<sys::RunResult> NotingRunner::Run(const sys::RunRequest& request) {
  if (!notes_) {
    return runner_.Run(request);
  }
  if (const auto noted = is_left_ ? ReadNote(host_) : std::nullopt; noted) {
    sys::Session session(noted->pid);
    if (!session.Await(std::chrono::steady_clock::now())) {
      return Unavailable("{}: not begun, as {} is at work still: {}", request.argv[0],
                         noted->program, session.Names());
    }
  }
  sys::RunRequest leading = request;
  leading.leads_session = true;
  leading.on_start = [&](pid_t pid) {
    RETURN_IF_ERROR(request.on_start ? request.on_start(pid) : OkStatus());
    return WriteNote(request, pid, host_, disk_);
  };
  auto result = runner_.Run(leading);
  is_left_ = !result.ok();
  if (result.ok()) {
    // One that stays is seen to be of a program that ended.
    (void)disk_.Remove(std::string(kProgramFile));
  }
  return result;
}

Status AwaitProgram(const sys::Root& host, engine::Disk& disk, Progress& progress,
                    std::chrono::milliseconds wait) {
  const auto noted = ReadNote(host);
  if (noted && IsOfNow(*noted, host)) {
    sys::Session session(noted->pid);
    const auto now = std::chrono::steady_clock::now();
    if (!session.Await(now)) {
      progress.OnLine(fmt::format("waiting for what an earlier kgpu left at work: {}: {}",
                                  noted->program, session.Names()));
      if (!session.Await(now + wait)) {
        return Unavailable(
            "{} of an earlier kgpu that was killed is at work still: {}: wait for it, or end it, "
            "and call again",
            noted->program, session.Names());
      }
    }
  }
  RETURN_IF_ERROR(disk.Remove(std::string(kProgramFile)));
  return disk.Tidy(std::string(kProgramFile));
}

}  // namespace kgpu::driver_install
