#include "src/setup/driver_install/running_program.h"

#include <unistd.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/sys/session.h"
#include "src/setup/driver_install/actions.h"

namespace kgpu::driver_install {
namespace {

namespace json = boost::json;

// Pids mean what they meant only in the same boot and the same namespace.
struct Noted {
  std::string program;
  pid_t pid = 0;
  uint64_t start = 0;
  std::string boot_id;
  std::string pids;  // "pid:[4026531836]"
};

// Our own namespace: that of our /proc, whatever host is worked on.
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

// Nothing if there is no readable note: it is written completely or not at all.
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

// Whether the note is of this boot and pid namespace, and the pid was not reused.
bool IsOfNow(const Noted& noted, const sys::Root& host) {
  const auto leader = sys::StatOf(noted.pid);
  return noted.boot_id == BootId(host) && noted.pids == PidNamespace() &&
         (!leader || leader->start == noted.start);
}

Status WriteNote(const sys::RunRequest& request, pid_t pid, const sys::Root& host,
                 change::Disk& disk) {
  const auto stat = sys::StatOf(pid);
  const Noted noted{.program = Printable(Join(request.argv, " "), 200),
                    .pid = pid,
                    .start = stat ? stat->start : 0,
                    .boot_id = BootId(host),
                    .pids = PidNamespace()};
  return disk.Write(std::string(kProgramFile), Print(noted), change::kRootOnly);
}

}  // namespace

StatusOr<sys::RunResult> NotingRunner::Run(const sys::RunRequest& request) {
  if (!notes_) {
    return runner_.Run(request);
  }
  if (const auto noted = is_left_ ? ReadNote(host_) : std::nullopt; noted) {
    sys::Session session(noted->pid);
    if (!session.Await(std::chrono::steady_clock::now())) {
      return Unavailable("{}: not started, because {} is still running: {}", request.argv[0],
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

Status AwaitProgram(const sys::Root& host, change::Disk& disk, Progress& progress,
                    std::chrono::milliseconds wait, std::chrono::milliseconds every) {
  const auto noted = ReadNote(host);
  if (noted && IsOfNow(*noted, host)) {
    sys::Session session(noted->pid);
    auto now = std::chrono::steady_clock::now();
    const auto until = now + wait;
    for (bool is_over = session.Await(now); !is_over;) {
      progress.OnWait(fmt::format(
          "waiting for programs of an earlier kgpu, {} more minutes at most: {}",
          std::chrono::ceil<std::chrono::minutes>(until - now).count(), session.Names()));
      is_over = session.Await(std::min(until, now + every));
      now = std::chrono::steady_clock::now();
      if (!is_over && now >= until) {
        return Unavailable(
            "{} of an earlier, killed kgpu is still running: {}: wait for it, or stop it, and run "
            "this again",
            noted->program, session.Names());
      }
    }
  }
  RETURN_IF_ERROR(disk.Remove(std::string(kProgramFile)));
  return disk.Tidy(std::string(kProgramFile));
}

}  // namespace kgpu::driver_install
