#include "src/node/choice/config_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::choice {
namespace {

// An update is rare, and reading takes a millisecond.
constexpr int kAttempts = 5;

// The kubelet's links and folders begin with "..", an editor's files end in "~".
bool IsKey(std::string_view name) {
  return name.front() != '.' && std::ranges::all_of(name, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

using Files = std::map<std::string, std::string>;

StatusOr<Files> FilesIn(const sys::Root& root) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, root.ListDir(""));
  Files files;
  size_t rest = kMaxFolderBytes;
  for (const std::string& name : names) {
    const auto status = root.Stat(name);
    // A link whose target is missing, too: the kubelet removes it next.
    if (!IsKey(name) || !status.ok() || !S_ISREG(status->st_mode)) {
      continue;
    }
    ASSIGN_OR_RETURN(std::string text, root.ReadFile(name, rest));
    rest -= text.size();
    files.emplace(name, std::move(text));
  }
  return files;
}

// The kubelet replaces all files at once by this link.
std::string VersionOf(const sys::Root& root) {
  return root.ReadLink("..data").value_or("");
}

// Files of one version: half an update could choose the wrong configuration.
StatusOr<Files> ReadVersion(const sys::Root& root) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string version = VersionOf(root);
    StatusOr<Files> files = FilesIn(root);
    if (VersionOf(root) == version) {
      return files;
    }
  }
  return Unavailable("{}: keeps changing while it is read", root.path());
}

}  // namespace

choice::Folders ConfigFoldersBelow(const std::string& folder) {
  return {.policy = {.name = "kgpu-policy", .path = folder + "/policy"},
          .configs = {.name = "kgpu-configs", .path = folder + "/configs"}};
}

void ReadFolder(choice::Folder& folder) {
  folder.files.clear();
  folder.problem.clear();
  const StatusOr<sys::Root> root = sys::Root::Open(folder.path);
  if (root.status().code() == StatusCode::kNotFound) {
    return;
  }
  StatusOr<Files> files = root.ok() ? ReadVersion(*root) : root.status();
  if (files.ok()) {
    folder.files = *std::move(files);
  } else {
    folder.problem = Message(files.status());
  }
}

}  // namespace kgpu::choice
