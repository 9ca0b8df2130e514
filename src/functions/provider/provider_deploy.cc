// Provider: from the request of a deployment to its image, before anything is written.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "src/functions/provider/provider.h"
#include "src/functions/provider/secret_files.h"
#include "src/functions/spec/auth_file.h"
#include "src/functions/spec/image_name.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::functions {
namespace {

constexpr mode_t kSecretMode = 0600;
constexpr std::string_view kAuthFilePrefix = "auth-";

}  // namespace

Status Provider::CheckOpen(const std::string& name) const {
  if (is_stopping_) {
    return Unavailable("function {}: the service is stopping", name);
  }
  if (deleting_.contains(name)) {
    return FailedPrecondition("function {}: is being removed: try again when that is done", name);
  }
  return OkStatus();
}

Status Provider::CheckMode(const std::string& name, DeployMode mode) const {
  RETURN_IF_ERROR(CheckOpen(name));
  const bool exists = pools_.contains(name) || saving_.contains(name);
  if (exists && mode == DeployMode::kCreate) {
    return AlreadyExists("function {}: is deployed already: update it", name);
  }
  if (!exists && mode != DeployMode::kCreate) {
    return NotFound("function {}: is not deployed", name);
  }
  return OkStatus();
}

// A label that this machine does not have is one of a cluster's nodes: nothing contradicts it here.
Status Provider::CheckConstraints(const Function& function, Notes& notes) const {
  for (const std::string& constraint : function.constraints) {
    const size_t equals = constraint.find('=');
    const std::string key = constraint.substr(0, equals);
    const auto label = options_.node_labels.find(key);
    if (label == options_.node_labels.end()) {
      notes.push_back(
          fmt::format("constraint {}: this machine has no label {}: not considered; "
                      "kgpu fn serve --label sets labels",
                      constraint, key));
    } else if (label->second != constraint.substr(equals + 1)) {
      return FailedPrecondition(
          "constraint {}: this machine has {}={}: change the constraint, or "
          "deploy on another machine",
          constraint, key, label->second);
    }
  }
  return OkStatus();
}

void Provider::Deploy(const std::string& /*key*/, Function function, DeployMode mode,
                      std::function<void(StatusOr<Notes>)> done) {
  auto deploying = std::make_shared<Deploying>(Deploying{.function = std::move(function),
                                                         .mode = mode,
                                                         .notes = {},
                                                         .done = std::move(done),
                                                         .auth_file = {}});
  const Function& asked = deploying->function;
  Status status = CheckMode(asked.name, mode);
  if (status.ok()) {
    status = CheckConstraints(asked, deploying->notes);
  }
  if (asked.scaling.by != ScaledBy::kKgpu) {
    deploying->notes.emplace_back(
        "scaling.by: not considered: on a machine without a cluster, kgpu scales every function");
  }
  if (status.ok()) {
    const Status secrets = CheckSecrets(folders_, asked);
    status = secrets.ok() ? secrets : FailedPrecondition("{}", Message(secrets));
  }
  if (!status.ok()) {
    return deploying->done(status);
  }
  CheckGpus(deploying);
}

// Whether this machine can ever lend what the function requests: the agent knows.
void Provider::CheckGpus(const std::shared_ptr<Deploying>& deploying) {
  if (deploying->function.gpu.count == 0) {
    return FetchImage(deploying);
  }
  loans_.Check(
      fmt::format("{}{}", kHolderPrefix, deploying->function.name), deploying->function.gpu,
      [this, deploying](const Status& status) {
        if (!status.ok() && status.code() != StatusCode::kResourceExhausted) {
          return deploying->done(Annotate(status, "function {}: {} GPU{} cannot be provided",
                                          deploying->function.name, deploying->function.gpu.count,
                                          deploying->function.gpu.count == 1 ? "" : "s"));
        }
        if (!status.ok()) {
          deploying->notes.push_back(fmt::format("its GPUs are not free now: {}", Message(status)));
        }
        FetchImage(deploying);
      });
}

Provider::Deploying::~Deploying() {
  RemoveAuthFile();
}

void Provider::Deploying::RemoveAuthFile() {
  if (!auth_file.empty()) {
    (void)std::remove(std::exchange(auth_file, {}).c_str());
  }
}

// A file of this deployment alone: another one of the same function may be under way.
Status Provider::WriteAuthFile(Deploying& deploying) {
  if (deploying.function.registry_auth.empty()) {
    return OkStatus();
  }
  deploying.auth_file =
      fmt::format("{}/{}{:016x}.json", FunctionsFolder(options_), kAuthFilePrefix, random_.Next());
  return sys::WriteFileAtomically(deploying.auth_file, AuthFileText(deploying.function),
                                  kSecretMode, sys::Durability::kMemory);
}

// Left by a provider that was killed while it fetched an image.
void Provider::RemoveOldAuthFiles() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(FunctionsFolder(options_), error)) {
    if (entry.path().filename().native().starts_with(kAuthFilePrefix)) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

void Provider::FetchImage(const std::shared_ptr<Deploying>& deploying) {
  if (const Status written = WriteAuthFile(*deploying); !written.ok()) {
    return deploying->done(written);
  }
  podman_.FetchImage(ImageNameOf(deploying->function), deploying->auth_file,
                     [this, deploying](const StatusOr<std::string>& id) {
                       deploying->RemoveAuthFile();
                       if (!id.ok()) {
                         return deploying->done(id.status().code() == StatusCode::kNotFound
                                                    ? FailedPrecondition("{}", Message(id.status()))
                                                    : id.status());
                       }
                       Commit(deploying, *id);
                     });
}

void Provider::Commit(const std::shared_ptr<Deploying>& deploying, const std::string& image_id) {
  // It may have been created or deleted meanwhile.
  const std::string name = deploying->function.name;
  if (const Status status = CheckMode(name, deploying->mode); !status.ok()) {
    return deploying->done(status);
  }
  Deployment deployment =
      MakeDeployment(std::move(deploying->function), image_id, loop_.clock().WallNow());
  const Pool* pool = FindPool(name);
  deployment.identity =
      pool != nullptr ? pool->deployment().identity : fmt::format("{:016x}", random_.Next());
  Save(deployment, [this, deploying, deployment](const Status& saved) {
    const Status status = saved.ok() ? Apply(deployment, deploying->mode) : saved;
    if (!status.ok()) {
      return deploying->done(status);
    }
    deploying->done(std::move(deploying->notes));
  });
}

}  // namespace kgpu::functions
