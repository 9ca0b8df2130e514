// `kgpu doctor --fix`: the files that findings want, written.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "src/diagnose/doctor/doctor.h"
#include "src/host/change/folders.h"
#include "src/host/change/lock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kBackup = ".before-kgpu";
constexpr unsigned kMaxLinks = 40;  // as many as the kernel follows

// What to print for an edit with new or changed lines.
std::string Describe(const FileEdit& edit) {
  std::string text = fmt::format("{} {}", edit.before ? "change" : "write", edit.path);
  for (const std::string& line : report::ChangesOf(edit)) {
    text += fmt::format("\n  {}", line);
  }
  return text;
}

// Keeps the text from before the first edit, with permissions for its owner alone; later edits of
// the same file do not replace it.
Status KeepFirst(const sys::Root& host, change::Disk& disk, const std::string& path,
                 const std::string& text) {
  const std::string backup = fmt::format("{}{}", path, kBackup);
  if (host.Exists(backup)) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const struct stat original, host.Stat(path));
  return disk.Write(backup, text, original.st_mode & 0777);
}

// The way to a file, part by part, links followed as they come.
class Way {
 public:
  explicit Way(const std::string& path) { Prepend(path); }

  // The next place on the path; empty: there is none.
  std::string Next() {
    while (!rest_.empty()) {
      const std::string part = rest_.back();
      rest_.pop_back();
      if (part == "..") {
        at_ = at_.parent_path();
      } else if (part != "." && part != "/" && !part.empty()) {
        return (at_ / part).string();
      }
    }
    return "";
  }
  void Enter(const std::string& place) { at_ = place; }
  // Errors: FailedPrecondition (a link that goes round).
  Status Follow(const std::string& target) {
    if (++links_ > kMaxLinks) {
      return FailedPrecondition("{}: a dangling link", (at_ / target).string());
    }
    Prepend(target);
    return OkStatus();
  }

 private:
  void Prepend(const std::filesystem::path& path) {
    at_ = path.is_absolute() ? "/" : at_;
    std::vector<std::string> parts;
    for (const std::filesystem::path& part : path) {
      parts.push_back(part.string());
    }
    rest_.insert(rest_.end(), parts.rbegin(), parts.rend());
  }

  std::filesystem::path at_ = "/";
  std::vector<std::string> rest_;  // the last one comes next
  unsigned links_ = 0;
};

// Somebody else could put another file there between our look and our writing, and have root write
// to what only root may write. Errors: FailedPrecondition.
Status CheckOwner(const struct stat& info, const std::string& place) {
  if (info.st_uid != 0) {
    return FailedPrecondition(
        "{}: owned by user {}: --fix as root writes only files that no other user can change; fix "
        "it manually",
        place, info.st_uid);
  }
  const bool is_open =
      (info.st_mode & 0002) != 0 || ((info.st_mode & 0020) != 0 && info.st_gid != 0);
  if (!S_ISLNK(info.st_mode) && is_open) {
    return FailedPrecondition(
        "{}: has mode {:04o}: --fix as root writes only files that no other user can change; fix "
        "it manually",
        place, info.st_mode & 07777);
  }
  return OkStatus();
}

// Every folder, link and file on the way is root's alone. What is not there yet is made by us.
Status CheckWay(const sys::Root& host, const std::string& path) {
  ASSIGN_OR_RETURN(const struct stat top, host.Stat("/"));
  RETURN_IF_ERROR(CheckOwner(top, host.path()));
  Way way(path);
  for (std::string place = way.Next(); !place.empty(); place = way.Next()) {
    const StatusOr<struct stat> info = host.LinkStat(place);
    if (info.status().code() == StatusCode::kNotFound) {
      return OkStatus();
    }
    RETURN_IF_ERROR(info.status());
    RETURN_IF_ERROR(CheckOwner(*info, place));
    if (S_ISLNK(info->st_mode)) {
      ASSIGN_OR_RETURN(const std::string target, host.ReadLink(place));
      RETURN_IF_ERROR(way.Follow(target));
    } else {
      way.Enter(place);
    }
  }
  return OkStatus();
}

// Errors: FailedPrecondition, where the file is not what the edit was made of.
Status CheckText(const sys::Root& host, const FileEdit& edit) {
  const StatusOr<std::string> now = host.ReadFile(edit.path);
  if (!now.ok() && now.status().code() != StatusCode::kNotFound) {
    return now.status();
  }
  if (now.ok() != edit.before.has_value() || (now.ok() && *now != *edit.before)) {
    return FailedPrecondition("{}: {}: run kgpu doctor again", edit.path,
                              edit.before ? "has changed since it was read" : "already exists");
  }
  return OkStatus();
}

Status Write(const FileEdit& edit, const sys::Root& host, change::Disk& disk, bool is_dry_run) {
  if (geteuid() == 0) {
    RETURN_IF_ERROR(CheckWay(host, edit.path));
  }
  RETURN_IF_ERROR(CheckText(host, edit));
  if (is_dry_run) {
    return OkStatus();
  }
  RETURN_IF_ERROR(change::MakeFoldersAbove(disk, edit.path));
  if (edit.before) {
    RETURN_IF_ERROR(KeepFirst(host, disk, edit.path, *edit.before));
  }
  return disk.Write(edit.path, edit.text, 0644);
}

}  // namespace

Fixed Fix(const Diagnosis& diagnosis, const sys::Root& host, change::Disk& disk, bool is_dry_run) {
  Fixed fixed;
  const bool has_edits = std::ranges::any_of(
      diagnosis.findings, [](const Finding& finding) { return !finding.fix.edits.empty(); });
  StatusOr<UniqueFd> lock = UniqueFd();
  if (has_edits && !is_dry_run) {
    lock = change::LockFolder(host, disk, change::kStateFolder, "another kgpu");
    if (!lock.ok()) {
      fixed.failed.push_back(lock.status());
      return fixed;
    }
  }
  std::set<std::string> paths;
  for (const Finding& finding : diagnosis.findings) {
    for (const FileEdit& edit : finding.fix.edits) {
      // Of several edits of one file only the first is made; the next run makes the next one.
      if (!paths.insert(edit.path).second) {
        continue;
      }
      const Status status = Write(edit, host, disk, is_dry_run);
      if (status.ok()) {
        fixed.done.push_back(fmt::format("{}: {}", finding.id, Describe(edit)));
      } else {
        fixed.failed.push_back(Annotate(status, "{}", finding.id));
      }
    }
  }
  return fixed;
}

}  // namespace kgpu::doctor
