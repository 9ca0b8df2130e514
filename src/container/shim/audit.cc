#include "src/container/shim/audit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>

#include "src/container/shim/timestamp.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::shim {
namespace {

constexpr size_t kLongestValue = 4096;

// As readers of logs take it in quotes: a quote or backslash of the value cannot end it.
// The limit counts what is written: an escaped byte takes four.
std::string Escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const std::string_view escape = c == '"' || c == '\\' ? "\\" : "";
    const std::string shown = fmt::format("{}{}", escape, Printable(std::string_view(&c, 1)));
    if (out.size() + shown.size() > kLongestValue) {
      return out + "…";
    }
    out += shown;
  }
  return out;
}

void AppendField(std::string& line, std::string_view key, std::string_view value) {
  const std::string shown = Escaped(value);
  const bool is_plain = !shown.empty() && shown.find_first_of(" =\"\\") == std::string::npos;
  line += is_plain ? fmt::format(" {}={}", key, shown) : fmt::format(" {}=\"{}\"", key, shown);
}

// Errors are ignored: they show when the file is opened.
void MakeFoldersAbove(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    (void)::mkdir(path.substr(0, slash).c_str(), 0755);
  }
}

StatusOr<UniqueFd> OpenLog(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::open(path.c_str(), kFlags, 0640));
  if (!fd.is_valid() && errno == ENOENT) {
    MakeFoldersAbove(path);
    fd.Reset(::open(path.c_str(), kFlags, 0640));
  }
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  return fd;
}

// Renames a full file. Of several processes that find it full one does so, under a lock; the others
// continue to write to the old file.
bool PutAside(const std::string& path, int fd) {
  struct stat ours{};
  struct stat there{};
  if (fstat(fd, &ours) != 0 || !S_ISREG(ours.st_mode) ||
      ours.st_size < static_cast<off_t>(kAuditLimit) || flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return false;
  }
  const bool is_same = ::lstat(path.c_str(), &there) == 0 && there.st_ino == ours.st_ino &&
                       there.st_dev == ours.st_dev;
  return is_same && ::rename(path.c_str(), fmt::format("{}.1", path).c_str()) == 0;
}

}  // namespace

std::string AuditFile(std::string_view grants, bool is_granted) {
  return fmt::format("{}{}", grants, is_granted ? "" : ".refused");
}

std::string AuditLine(const AuditEntry& entry, WallTime now) {
  std::string line = fmt::format("time={} event={}", Timestamp(now),
                                 entry.is_granted ? "gpu-granted" : "gpu-refused");
  AppendField(line, "container", entry.container);
  AppendField(line, "bundle", entry.bundle);
  AppendField(line, "source", entry.source);
  AppendField(line, "asked", entry.asked);
  AppendField(line, "devices", entry.devices);
  AppendField(line, "reason", entry.reason);
  line += '\n';
  return line;
}

Status AppendAudit(const std::string& path, std::string_view line) {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenLog(path));
  if (PutAside(path, fd.get())) {
    ASSIGN_OR_RETURN(fd, OpenLog(path));
  }
  const ssize_t written = ::write(fd.get(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    return ErrnoStatus(written < 0 ? errno : ENOSPC, fmt::format("write {}", path));
  }
  return OkStatus();
}

}  // namespace kgpu::shim
