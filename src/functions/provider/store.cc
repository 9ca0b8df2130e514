#include "src/functions/provider/store.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kSuffix = ".json";

StatusOr<Deployment> ReadDeployment(const sys::Root& folder, const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, folder.ReadFile(file, kMaxDeploymentBytes));
  ASSIGN_OR_RETURN(Deployment deployment, ParseDeployment(text, folder.At(file)));
  const std::string_view name(file.data(), file.size() - kSuffix.size());
  if (deployment.function.name != name) {
    return InvalidArgument("{}: contains the function {}", folder.At(file),
                           deployment.function.name);
  }
  return deployment;
}

}  // namespace

StatusOr<Store::Found> Store::Open() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    return ErrnoStatus(error.value(), "create " + folder_);
  }
  ASSIGN_OR_RETURN(const sys::Root folder, sys::Root::Open(folder_));
  ASSIGN_OR_RETURN(const std::vector<std::string> files, folder.ListDir(""));
  Found found;
  for (const std::string& file : files) {
    if (!file.ends_with(kSuffix)) {
      continue;
    }
    StatusOr<Deployment> deployment = ReadDeployment(folder, file);
    if (deployment.ok()) {
      found.deployments.push_back(*std::move(deployment));
      continue;
    }
    const std::string path = folder.At(file);
    found.problems.emplace_back(Message(deployment.status()));
    if (std::rename(path.c_str(), (path + ".bad").c_str()) != 0) {
      found.problems.emplace_back(Message(ErrnoStatus(errno, "rename " + path)));
    }
  }
  return found;
}

Status Store::Save(const Deployment& deployment) {
  constexpr mode_t kSecret = 0600;
  return sys::WriteFileAtomically(PathOf(deployment.function.name), PrintDeployment(deployment),
                                  kSecret);
}

Status Store::Remove(const std::string& name) {
  const std::string path = PathOf(name);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "remove " + path);
  }
  return sys::SyncFolder(folder_);
}

}  // namespace kgpu::functions
