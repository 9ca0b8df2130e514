#include "src/functions/provider/store.h"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kSuffix = ".json";

// Of the function `name`.
StatusOr<std::optional<Deployment>> ReadDeployment(const sys::StateFile& file,
                                                   std::string_view name) {
  return file.Read([&](std::string_view text) -> StatusOr<Deployment> {
    ASSIGN_OR_RETURN(Deployment deployment, ParseDeployment(text, file.path()));
    if (deployment.function.name != name) {
      return InvalidArgument("{}: contains the function {}", file.path(), deployment.function.name);
    }
    return deployment;
  });
}

}  // namespace

StatusOr<Store::Found> Store::Open() const {
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
    const std::string name = file.substr(0, file.size() - kSuffix.size());
    const sys::StateFile kept = FileOf(name);
    auto deployment = ReadDeployment(kept, name);
    if (!deployment.ok()) {
      found.problems.emplace_back(Message(kept.SetAside(deployment.status())));
    } else if (*deployment) {
      found.deployments.push_back(**std::move(deployment));
    }
  }
  return found;
}

Status Store::Save(const Deployment& deployment) const {
  return FileOf(deployment.function.name).Write(PrintDeployment(deployment));
}

Status Store::Remove(const std::string& name) const {
  return FileOf(name).Remove();
}

sys::StateFile Store::FileOf(const std::string& name) const {
  constexpr mode_t kSecret = 0600;
  return {fmt::format("{}/{}{}", folder_, name, kSuffix),
          {.most_bytes = kMaxDeploymentBytes, .mode = kSecret}};
}

}  // namespace kgpu::functions
