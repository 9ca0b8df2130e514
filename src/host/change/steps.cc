#include "src/host/change/steps.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/host/change/folders.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::change {
namespace {

std::optional<std::string> TextNow(const sys::Root& host, const std::string& path) {
  auto text = host.ReadFile(path, kMostFileBytes);
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

Status Put(const std::string& path, const std::optional<std::string>& text, mode_t mode,
           Disk& disk) {
  return text ? disk.Write(path, *text, mode) : disk.Remove(path);
}

std::string_view ActionOf(const FileStep& file) {
  if (!file.before) {
    return "wrote";
  }
  return file.after ? "changed" : "removed";
}

// False: it was done already.
StatusOr<bool> DoFile(const FileStep& file, const sys::Root& host, Disk& disk) {
  const std::optional<std::string> now = TextNow(host, file.path);
  if (now == file.after) {
    return false;
  }
  if (now != file.before) {
    return Unavailable("{}: changed by somebody else during the edit: try again",
                       host.At(file.path));
  }
  RETURN_IF_ERROR(Put(file.path, file.after, file.mode, disk));
  return true;
}

}  // namespace

std::vector<std::string> Steps::MissingFolders() const {
  std::vector<std::string> missing;
  const auto look = [&](const std::string& path) {
    for (std::string& folder : change::MissingFolders(host_, path)) {
      if (std::ranges::find(missing, folder) == missing.end()) {
        missing.push_back(std::move(folder));
      }
    }
  };
  for (const FileStep& file : files_) {
    if (file.after) {
      look(file.path);
    }
  }
  for (const LinkStep& link : links_) {
    if (!link.is_removal) {
      look(link.path);
    }
  }
  return missing;
}

Status Steps::DoLink(const LinkStep& link, std::vector<std::string>& done) {
  const auto target = host_.ReadLink(link.path);
  const bool is_ours = target.ok() && *target == link.target;
  if (is_ours != link.is_removal) {
    return OkStatus();
  }
  RETURN_IF_ERROR(link.is_removal ? disk_.Remove(link.path) : disk_.Link(link.path, link.target));
  done.push_back(fmt::format("{} {}", link.is_removal ? "removed" : "linked", host_.At(link.path)));
  return OkStatus();
}

Status Steps::Do(std::span<const std::string> folders, std::vector<std::string>& done) {
  RETURN_IF_ERROR(MakeFolders(disk_, folders));
  for (const FileStep& file : files_) {
    ASSIGN_OR_RETURN(const bool is_new, DoFile(file, host_, disk_));
    if (is_new) {
      done.push_back(fmt::format("{} {}", ActionOf(file), host_.At(file.path)));
    }
  }
  for (const LinkStep& link : links_) {
    RETURN_IF_ERROR(DoLink(link, done));
  }
  return OkStatus();
}

Status Steps::UndoFile(const FileStep& file) {
  const std::optional<std::string> now = TextNow(host_, file.path);
  if (now == file.before) {
    return OkStatus();
  }
  // What others wrote in between must not be overwritten.
  return now == file.after
             ? Put(file.path, file.before, file.mode, disk_)
             : Unavailable("{}: edited by somebody else in the meantime", host_.At(file.path));
}

Status Steps::Undo(std::span<const std::string> folders) {
  Status first;
  std::vector<std::string> ignored;
  for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
    LinkStep undone = *link;
    undone.is_removal = !link->is_removal;
    first.Update(DoLink(undone, ignored));
  }
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    first.Update(UndoFile(*file));
  }
  first.Update(RemoveFolders(disk_, folders));
  return first;
}

}  // namespace kgpu::change
