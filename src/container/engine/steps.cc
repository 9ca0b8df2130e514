#include "src/container/engine/steps.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "src/platform/base/status_macros.h"

namespace kgpu::engine {
namespace {

constexpr size_t kMostStepBytes = size_t{64} << 20;  // a program may be among the files

std::optional<std::string> Now(const sys::Root& host, const std::string& path) {
  auto text = host.ReadFile(path, kMostStepBytes);
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

Status Put(const std::string& path, const std::optional<std::string>& text, mode_t mode,
           Disk& disk) {
  return text ? disk.Write(path, *text, mode) : disk.Remove(path);
}

std::string_view DeedOf(const FileStep& file) {
  if (!file.before) {
    return "wrote";
  }
  return file.after ? "changed" : "removed";
}

Status DoFile(const FileStep& file, const sys::Root& host, Disk& disk,
              std::vector<std::string>& done) {
  const std::optional<std::string> now = Now(host, file.path);
  if (now == file.after) {
    return OkStatus();
  }
  if (now != file.before) {
    return Unavailable("{}: was changed while it was being edited: try again", host.At(file.path));
  }
  RETURN_IF_ERROR(Put(file.path, file.after, file.mode, disk));
  done.push_back(fmt::format("{} {}", DeedOf(file), host.At(file.path)));
  return OkStatus();
}

Status DoLink(const LinkStep& link, const sys::Root& host, Disk& disk,
              std::vector<std::string>& done) {
  const auto target = host.ReadLink(link.path);
  const bool is_ours = target.ok() && *target == link.target;
  if (is_ours != link.is_removal) {
    return OkStatus();
  }
  RETURN_IF_ERROR(link.is_removal ? disk.Remove(link.path) : disk.Link(link.path, link.target));
  done.push_back(fmt::format("{} {}", link.is_removal ? "removed" : "linked", host.At(link.path)));
  return OkStatus();
}

void Keep(Status status, Status& first) {
  if (first.ok()) {
    first = std::move(status);
  }
}

}  // namespace

std::vector<std::string> MissingFolders(const sys::Root& host, const Plan& plan) {
  std::vector<std::string> missing;
  const auto look = [&](const std::string& path) {
    std::vector<std::string> above;
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    while (folder != folder.root_path() && !host.Exists(folder.string())) {
      above.push_back(folder.string());
      folder = folder.parent_path();
    }
    for (auto outer = above.rbegin(); outer != above.rend(); ++outer) {
      if (std::ranges::find(missing, *outer) == missing.end()) {
        missing.push_back(*outer);
      }
    }
  };
  for (const FileStep& file : plan.files) {
    if (file.after) {
      look(file.path);
    }
  }
  for (const LinkStep& link : plan.links) {
    if (!link.is_removal) {
      look(link.path);
    }
  }
  return missing;
}

Status DoSteps(const Plan& plan, const std::vector<std::string>& folders, const sys::Root& host,
               Disk& disk, std::vector<std::string>& done) {
  for (const std::string& folder : folders) {
    RETURN_IF_ERROR(disk.MakeFolder(folder));
  }
  for (const FileStep& file : plan.files) {
    RETURN_IF_ERROR(DoFile(file, host, disk, done));
  }
  for (const LinkStep& link : plan.links) {
    RETURN_IF_ERROR(DoLink(link, host, disk, done));
  }
  return OkStatus();
}

Status UndoSteps(const Plan& plan, const std::vector<std::string>& folders, const sys::Root& host,
                 Disk& disk) {
  Status first;
  std::vector<std::string> ignored;
  for (auto link = plan.links.rbegin(); link != plan.links.rend(); ++link) {
    LinkStep undone = *link;
    undone.is_removal = !link->is_removal;
    Keep(DoLink(undone, host, disk, ignored), first);
  }
  for (auto file = plan.files.rbegin(); file != plan.files.rend(); ++file) {
    const std::optional<std::string> now = Now(host, file->path);
    if (now == file->after && now != file->before) {
      Keep(Put(file->path, file->before, file->mode, disk), first);
    } else if (now != file->before) {
      // What somebody else wrote in between is not ours to overwrite.
      Keep(Unavailable("{}: was edited meanwhile by somebody else", host.At(file->path)), first);
    }
  }
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    Keep(disk.RemoveFolder(*folder), first);
  }
  return first;
}

}  // namespace kgpu::engine
