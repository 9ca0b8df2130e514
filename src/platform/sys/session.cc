#include "src/platform/sys/session.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::sys {
namespace {

constexpr size_t kMostNames = 8;

// Of every living process.
std::vector<ProcessStat> Living() {
  std::vector<ProcessStat> living;
  const auto root = Root::Open("/proc");
  const auto names =
      root.ok() ? root->ListDir("") : StatusOr<std::vector<std::string>>(root.status());
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!ParseUint(name)) {
      continue;
    }
    const auto text = root->ReadFile(name + "/stat");
    auto stat = text.ok() ? ParseProcessStat(*text) : std::nullopt;
    if (stat && stat->state != 'Z' && stat->state != 'X') {
      living.push_back(*std::move(stat));
    }
  }
  return living;
}

bool HasEnded(const UniqueFd& pidfd) {
  pollfd end = {pidfd.get(), POLLIN, 0};
  return poll(&end, 1, 0) == 1;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // "71 (a name) S 1 71 71 …": a name may hold blanks and brackets.
  const size_t open = text.find(" (");
  const size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const auto pid = ParseUint(text.substr(0, open));
  const std::vector<std::string_view> fields = Split(text.substr(close + 2), ' ');
  constexpr size_t kParent = 1;
  constexpr size_t kSession = 3;
  constexpr size_t kStart = 19;
  if (!pid || fields.size() <= kStart || fields[0].size() != 1) {
    return std::nullopt;
  }
  const auto parent = ParseUint(fields[kParent]);
  const auto session = ParseUint(fields[kSession]);
  const auto start = ParseUint(fields[kStart]);
  if (!parent || !session || !start) {
    return std::nullopt;
  }
  return ProcessStat{.pid = static_cast<pid_t>(*pid),
                     .name = std::string(text.substr(open + 2, close - open - 2)),
                     .state = fields[0][0],
                     .parent = static_cast<pid_t>(*parent),
                     .session = static_cast<pid_t>(*session),
                     .start = *start};
}

std::optional<ProcessStat> StatOf(pid_t pid) {
  const auto root = Root::Open("/proc");
  const auto text = root.ok() ? root->ReadFile(fmt::format("{}/stat", pid)) : root.status();
  return text.ok() ? ParseProcessStat(*text) : std::nullopt;
}

void Session::Take(const ProcessStat& process) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  const auto again = pidfd.is_valid() ? StatOf(process.pid) : std::nullopt;
  if (again && again->start == process.start) {  // else it ended, and its pid is another's
    members_.emplace(process.pid, Member{process.name, std::move(pidfd), 0});
  }
}

void Session::Look() {
  std::erase_if(members_, [](const auto& member) { return HasEnded(member.second.pidfd); });
  const std::vector<ProcessStat> living = Living();
  bool is_grown = true;
  while (is_grown) {  // children of those that were found last
    is_grown = false;
    for (const ProcessStat& process : living) {
      const bool is_ours =
          process.session == leader_ || process.pid == leader_ || members_.contains(process.parent);
      if (is_ours && process.pid != getpid() && !members_.contains(process.pid)) {
        const size_t before = members_.size();
        Take(process);
        is_grown = is_grown || members_.size() > before;
      }
    }
  }
}

void Session::Signal(int signal) {
  for (auto& [pid, member] : members_) {
    if (member.last_signal != signal) {
      (void)syscall(SYS_pidfd_send_signal, member.pidfd.get(), signal, nullptr, 0);
      member.last_signal = signal;
    }
  }
}

std::vector<pollfd> Session::Ends() const {
  std::vector<pollfd> ends;
  for (const auto& [pid, member] : members_) {
    ends.push_back({member.pidfd.get(), POLLIN, 0});
  }
  return ends;
}

bool Session::Await(std::chrono::steady_clock::time_point until) {
  for (Look(); !IsOver(); Look()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return false;
    }
    std::vector<pollfd> ends = Ends();
    (void)poll(ends.data(), ends.size(),
               static_cast<int>(std::min<int64_t>(left.count(), 1 << 30)));
  }
  return true;
}

std::string Session::Names() const {
  std::vector<std::string> names;
  for (const auto& [pid, member] : members_) {
    if (names.size() < kMostNames) {
      names.push_back(fmt::format("{} (process {})", Printable(member.name, 40), pid));
    }
  }
  const size_t more = members_.size() - names.size();
  return more == 0 ? Join(names, ", ") : fmt::format("{} and {} more", Join(names, ", "), more);
}

}  // namespace kgpu::sys
