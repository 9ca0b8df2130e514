#include "src/cli/base/lasting_program.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>

namespace kgpu::cli {
namespace {

bool IsRootsAlone(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0 || S_ISLNK(info.st_mode) || info.st_uid != 0) {
    return false;
  }
  const bool is_open =
      (info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && info.st_gid != 0);
  return !is_open;
}

}  // namespace

bool IsLastingProgram(const std::string& path) {
  struct statfs disk = {};
  if (statfs(path.c_str(), &disk) != 0 || disk.f_type == TMPFS_MAGIC ||
      disk.f_type == RAMFS_MAGIC) {
    return false;
  }
  for (std::filesystem::path place = path;; place = place.parent_path()) {
    if (!IsRootsAlone(place.string())) {
      return false;
    }
    if (!place.has_relative_path()) {
      return true;
    }
  }
}

}  // namespace kgpu::cli
