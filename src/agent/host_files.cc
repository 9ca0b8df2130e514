#include "src/agent/host_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "src/platform/base/status_macros.h"

namespace kgpu::agent {
namespace {

struct OwnFolder {
  std::string_view path;
  // Names that agents make there: "kgpu-*" is every name that begins so, "*" is every name.
  std::array<std::string_view, 4> names{};
  // Whether what else lies in it is to be named.
  bool is_ours = false;
  // Removed when nothing is left in it: agents create it where it is missing.
  bool goes_empty = false;
};

// Folders within others come first.
constexpr std::array<OwnFolder, 7> kOwnFolders = {{
    {"/run/kgpu",
     {"agent.sock", "agent-memory.json", "plugin-owner", "injection.json"},
     true,
     true},
    {"/run/cdi", {"kgpu-*"}, false, true},
    {"/var/run/cdi", {"kgpu-*"}, false, true},
    {"/var/lib/kubelet/device-plugins", {"kgpu-*"}},
    {"/var/lib/kubelet/plugins_registry", {"kgpu-*"}},
    {"/var/lib/kgpu/usage", {"*"}, true, true},
    {"/var/lib/kgpu", {"health.journal*"}, true, true},
}};

bool IsOwnName(const OwnFolder& folder, std::string_view name) {
  return std::ranges::any_of(folder.names, [&](std::string_view own) {
    return own.ends_with('*') ? name.starts_with(own.substr(0, own.size() - 1))
                              : !own.empty() && name == own;
  });
}

class Remover {
 public:
  Remover(const sys::Root& host, bool is_dry_run, HostFiles& files)
      : host_(host), is_dry_run_(is_dry_run), files_(files) {}

  Status Folder(const OwnFolder& folder) {
    const StatusOr<std::vector<std::string>> names = host_.ListDir(folder.path);
    if (names.status().code() == StatusCode::kNotFound) {
      return OkStatus();
    }
    RETURN_IF_ERROR(names.status());
    ASSIGN_OR_RETURN(const std::string real, host_.FollowLinks(folder.path));
    Status first;
    size_t left = 0;
    const size_t before = files_.removed.size();
    for (const std::string& name : *names) {
      const std::string path = fmt::format("{}/{}", folder.path, name);
      if (IsOwnName(folder, name)) {
        first.Update(Remove(fmt::format("{}/{}", real, name), path));
      } else if (std::ranges::find(files_.removed, path) == files_.removed.end()) {
        ++left;
        if (folder.is_ours) {
          files_.stays.push_back(path);
        }
      }
    }
    // One that others have left empty is theirs.
    const bool has_changed = folder.is_ours || files_.removed.size() > before;
    if (folder.goes_empty && has_changed && left == 0 && first.ok()) {
      first.Update(RemoveFolder(real, folder.path));
    }
    return first;
  }

 private:
  Status Remove(const std::string& real, const std::string& path) {
    if (!is_dry_run_ && unlink(real.c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, fmt::format("remove {}", real));
    }
    files_.removed.push_back(path);
    return OkStatus();
  }

  Status RemoveFolder(const std::string& real, std::string_view path) {
    if (!is_dry_run_ && rmdir(real.c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, fmt::format("remove {}", real));
    }
    files_.removed.emplace_back(path);
    return OkStatus();
  }

  const sys::Root& host_;
  const bool is_dry_run_;
  HostFiles& files_;
};

}  // namespace

Status RemoveHostFiles(const sys::Root& host, bool is_dry_run, HostFiles& files) {
  Remover remover(host, is_dry_run, files);
  Status first;
  for (const OwnFolder& folder : kOwnFolders) {
    first.Update(remover.Folder(folder));
  }
  return first;
}

}  // namespace kgpu::agent
