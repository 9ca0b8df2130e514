#include "src/agent/config_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {
namespace {

// The kubelet's links and folders begin with "..", an editor's files end in "~".
bool IsKey(std::string_view name) {
  return name.front() != '.' && std::ranges::all_of(name, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

StatusOr<std::map<std::string, std::string>> FilesIn(const std::string& path) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open(path));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, root.ListDir(""));
  std::map<std::string, std::string> files;
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

}  // namespace

choice::Folders ConfigFoldersBelow(const std::string& folder) {
  return {.policy = {.name = "kgpu-policy", .path = folder + "/policy"},
          .configs = {.name = "kgpu-configs", .path = folder + "/configs"}};
}

void ReadFolder(choice::Folder& folder) {
  auto files = FilesIn(folder.path);
  folder.problem.clear();
  if (files.ok()) {
    folder.files = *std::move(files);
    return;
  }
  folder.files.clear();
  if (files.status().code() != StatusCode::kNotFound) {
    folder.problem = Message(files.status());
  }
}

}  // namespace kgpu::agent
