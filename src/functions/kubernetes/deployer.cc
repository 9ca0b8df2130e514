#include "src/functions/kubernetes/deployer.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "src/functions/kubernetes/resources.h"
#include "src/functions/kubernetes/trim.h"
#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/lister.h"
#include "src/kube/api/writes.h"
#include "src/node/labels/model_affinity.h"
#include "src/node/sharing/share.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

constexpr int kMaxConflicts = 5;

bool IsPullSecret(std::string_view type) {
  return type == "kubernetes.io/dockerconfigjson" || type == "kubernetes.io/dockercfg";
}

// The models that the labels of nodes name.
std::vector<std::string> ModelsOf(const std::vector<json::value>& nodes) {
  constexpr std::string_view kPrefix = labels::kModelLabelPrefix;
  constexpr std::string_view kSuffix = ".count";
  std::set<std::string> models;
  for (const json::value& node : nodes) {
    const json::value* found = kube::FindField(node, {"metadata", "labels"});
    if (found == nullptr || !found->is_object()) {
      continue;
    }
    for (const auto& label : found->get_object()) {
      const std::string_view key(label.key().data(), label.key().size());
      if (key.starts_with(kPrefix) && key.ends_with(kSuffix)) {
        models.emplace(key.substr(kPrefix.size(), key.size() - kPrefix.size() - kSuffix.size()));
      }
    }
  }
  return {models.begin(), models.end()};
}

// The memory slices that nodes offer, by their size.
std::map<int64_t, std::string> SlicesOf(const std::vector<json::value>& nodes) {
  std::map<int64_t, std::string> slices;
  for (const json::value& node : nodes) {
    const json::value* found = kube::FindField(node, {"status", "allocatable"});
    if (found == nullptr || !found->is_object()) {
      continue;
    }
    for (const auto& resource : found->get_object()) {
      const std::string_view name(resource.key().data(), resource.key().size());
      // A resource that a node had once stays there with an amount of zero.
      if (const auto size = sharing::SliceOfResource(name); size && resource.value() != "0") {
        slices.emplace(static_cast<int64_t>(size->count), name);
      }
    }
  }
  return slices;
}

void KeepGpusOnly(json::value& node) {
  if (json::object* metadata = ObjectBelow(node, {"metadata"})) {
    KeepOnly(*metadata, {"name", "labels"});
  }
  if (json::object* status = ObjectBelow(node, {"status"})) {
    KeepOnly(*status, {"allocatable"});
  }
  if (json::object* object = node.if_object()) {
    KeepOnly(*object, {"metadata", "status"});
  }
}

// The Deployment that exists, as it should be: what others have annotated stays, and so does the
// number of replicas.
json::value Updated(const json::value& existing, json::object wanted) {
  json::value updated = std::move(wanted);
  json::object* metadata = ObjectBelow(updated, {"metadata"});
  json::object annotations;
  if (const json::value* theirs = kube::FindField(existing, {"metadata", "annotations"});
      theirs != nullptr && theirs->is_object()) {
    for (const auto& [key, value] : theirs->get_object()) {
      if (std::string_view(key.data(), key.size()).starts_with("deployment.kubernetes.io/")) {
        annotations[key] = value;
      }
    }
  }
  if (const json::object* ours = ObjectBelow(updated, {"metadata", "annotations"})) {
    for (const auto& [key, value] : *ours) {
      annotations[key] = value;
    }
  }
  (*metadata)["annotations"] = std::move(annotations);
  (*metadata)["resourceVersion"] = doc::View(kube::VersionOf(existing));
  if (const auto replicas = kube::IntField(existing, {"spec", "replicas"})) {
    (*ObjectBelow(updated, {"spec"}))["replicas"] = *replicas;
  }
  return updated;
}

}  // namespace

// One deployment, step by step.
class Deployer::Job {
 public:
  Job(Deployer& owner, uint64_t number, DeployOrder order,
      std::function<void(StatusOr<Deployed>)> done)
      : owner_(owner), number_(number), order_(std::move(order)), done_(std::move(done)) {
    manifest_.space = order_.space;
    manifest_.is_update = order_.mode != DeployMode::kCreate;
    manifest_.deployed_at = FormatTime(owner_.loop_.clock().WallNow());
    manifest_.mesh_url = owner_.options_.mesh_url;
    manifest_.prometheus_url = owner_.options_.prometheus_url;
    manifest_.model_resources = owner_.options_.model_resources;
    manifest_.memory_resources = owner_.options_.memory_resources;
    manifest_.series_name = order_.key;
  }

  void Begin() {
    if (!order_.edit) {
      return ReadFirstSecret();
    }
    ReadDeployment([this](json::value existing) {
      StatusOr<Function> function = FunctionOf(existing.as_object());
      if (!function.ok()) {
        return Fail(function.status());
      }
      order_.function = *std::move(function);
      if (const Status status = order_.edit(order_.function); !status.ok()) {
        return Fail(status);
      }
      existing_ = std::move(existing);
      ReadFirstSecret();
    });
  }

 private:
  using Next = std::function<void(StatusOr<json::value>)>;

  void ReadFirstSecret() {
    manifest_.pull_secrets.clear();
    manifest_.mounted_secrets.clear();
    unread_.assign(order_.function.secrets.begin(), order_.function.secrets.end());
    ReadSecrets();
  }

  // Which of the secrets are for pulling the image, only their types say.
  void ReadSecrets() {
    if (unread_.empty()) {
      return ReadModels();
    }
    const std::string secret = unread_.front();
    unread_.pop_front();
    Send({.path = kSecrets.Object(order_.space, secret)},
         [this, secret](StatusOr<json::value> object) {
           if (object.status().code() == StatusCode::kNotFound) {
             return Fail(FailedPrecondition(
                 "function {}: secret {}: namespace {} has none of this name: kubectl -n {} create "
                 "secret generic {} …",
                 order_.function.name, secret, order_.space, order_.space, secret));
           }
           if (!object.ok()) {
             return Fail(object.status());
           }
           (IsPullSecret(kube::TextField(*object, {"type"})) ? manifest_.pull_secrets
                                                             : manifest_.mounted_secrets)
               .push_back(secret);
           ReadSecrets();
         });
  }

  void Send(kube::ApiRequest request, Next next) {
    call_ = owner_.client_.Send(std::move(request), std::move(next));
  }

  // The scheduler counts GPUs of all models of a node as one resource: nodes that mix models must
  // be kept out by name. Memory slices are known by what nodes offer.
  void ReadModels() {
    const bool needs_slices = order_.function.gpu.memory && manifest_.memory_resources.empty();
    if (order_.function.gpu.models.empty() && !needs_slices) {
      return ReadExisting();
    }
    kube::ListOptions options{.selection = {.path = kube::kNodes.Collection()}};
    options.trim = KeepGpusOnly;
    call_ = kube::ListObjects(owner_.client_, std::move(options),
                              [this, needs_slices](const StatusOr<kube::ListResult>& nodes) {
                                if (!nodes.ok()) {
                                  return Fail(nodes.status());
                                }
                                manifest_.cluster_models = ModelsOf(nodes->items);
                                if (needs_slices) {
                                  manifest_.memory_resources = SlicesOf(nodes->items);
                                }
                                ReadExisting();
                              });
  }

  void ReadExisting() {
    if (order_.mode == DeployMode::kCreate) {
      return Create();
    }
    if (existing_) {
      return Update(*existing_);
    }
    ReadDeployment([this](const json::value& existing) { Update(existing); });
  }

  void ReadDeployment(std::function<void(json::value)> next) {
    Send({.path = DeploymentPath()},
         [this, next = std::move(next)](StatusOr<json::value> existing) {
           if (!existing.ok()) {
             return Fail(existing.status().code() == StatusCode::kNotFound
                             ? NotFound("function {}: is not deployed", order_.key)
                             : existing.status());
           }
           next(*std::move(existing));
         });
  }

  std::string DeploymentPath() const {
    return kDeployments.Object(order_.space, order_.function.name);
  }

  bool MakeObjects() {
    StatusOr<FunctionObjects> objects = ObjectsOf(order_.function, manifest_);
    if (!objects.ok()) {
      Fail(objects.status());
      return false;
    }
    objects_ = *std::move(objects);
    return true;
  }

  void Create() {
    if (!MakeObjects()) {
      return;
    }
    Send(kube::CreateRequest(kDeployments.Collection(order_.space), objects_.deployment,
                             {.field_manager = kGatewayManager}),
         [this](StatusOr<json::value> created) {
           if (!created.ok()) {
             return Fail(
                 created.status().code() == StatusCode::kAlreadyExists
                     ? AlreadyExists("function {}: is deployed already: update it", order_.key)
                     : created.status());
           }
           OnDeployment(*std::move(created));
         });
  }

  void Update(const json::value& existing) {
    manifest_.replaced_at = order_.mode == DeployMode::kReplace
                                ? manifest_.deployed_at
                                : std::string(ReplacedAtOf(existing.as_object()));
    if (!MakeObjects()) {
      return;
    }
    StatusOr<kube::ApiRequest> request =
        kube::ReplaceRequest(DeploymentPath(), Updated(existing, objects_.deployment),
                             {.field_manager = kGatewayManager});
    if (!request.ok()) {
      return Fail(request.status());
    }
    Send(*std::move(request), [this](StatusOr<json::value> updated) {
      if (updated.status().code() == StatusCode::kAborted && ++conflicts_ < kMaxConflicts) {
        return order_.edit ? Begin() : ReadExisting();
      }
      updated.ok() ? OnDeployment(*std::move(updated)) : Fail(updated.status());
    });
  }

  void OnDeployment(json::value deployment) {
    deployment_ = std::move(deployment);
    for (json::object* object : {&objects_.service, objects_.scaler ? &*objects_.scaler : nullptr,
                                 objects_.network_policy ? &*objects_.network_policy : nullptr}) {
      if (object == nullptr) {
        continue;
      }
      if (const Status status = SetOwner(deployment_.as_object(), *object); !status.ok()) {
        return FailHalfway(status);
      }
    }
    ApplyNext();
  }

  struct Part {
    kube::Resource resource;
    const json::object* object;  // null: there must be none
  };

  // What goes with the Deployment, in this order.
  std::vector<Part> Parts() const {
    const json::object* scaler = objects_.scaler ? &*objects_.scaler : nullptr;
    const bool is_keda = order_.function.scaling.by == ScaledBy::kKeda;
    std::vector<Part> parts = {
        {kServices, &objects_.service},
        {kPodScalers, is_keda ? nullptr : scaler},
        {kNetworkPolicies, objects_.network_policy ? &*objects_.network_policy : nullptr}};
    // Only a gateway that knows a Prometheus makes them, and may remove them.
    if (!manifest_.prometheus_url.empty()) {
      parts.push_back({kScaledObjects, is_keda ? scaler : nullptr});
    }
    return parts;
  }

  void ApplyNext() {
    const std::vector<Part> parts = Parts();
    if (part_ == parts.size()) {
      return Succeed();
    }
    const Part part = parts[part_++];
    const std::string path = part.resource.Object(order_.space, order_.function.name);
    if (part.object == nullptr) {
      return RemovePart(path);
    }
    StatusOr<kube::ApiRequest> request =
        kube::ApplyRequest(path, *part.object, true, {.field_manager = kGatewayManager});
    if (!request.ok()) {
      return FailHalfway(request.status());
    }
    Send(*std::move(request), [this](const StatusOr<json::value>& applied) {
      applied.ok() ? ApplyNext() : FailHalfway(applied.status());
    });
  }

  // Of an earlier deployment, which may have had one.
  void RemovePart(const std::string& path) {
    if (order_.mode == DeployMode::kCreate) {
      return ApplyNext();
    }
    Send(kube::DeleteRequest(path), [this](const StatusOr<json::value>& removed) {
      const bool is_gone = removed.ok() || removed.status().code() == StatusCode::kNotFound;
      is_gone ? ApplyNext() : FailHalfway(removed.status());
    });
  }

  void Succeed() {
    std::ranges::move(objects_.notes, std::back_inserter(notes_));
    Finish(Deployed{std::move(deployment_), std::move(notes_)});
  }

  // A new function that is not complete goes as a whole; one that was there stays.
  void FailHalfway(const Status& status) {
    if (order_.mode != DeployMode::kCreate) {
      return Fail(Annotate(status, "function {}: is updated in part: deploy it again", order_.key));
    }
    const std::string uid(kube::TextField(deployment_, {"metadata", "uid"}));
    Send(kube::DeleteRequest(DeploymentPath(), {.uid = uid, .propagation = "Background"}),
         [this, status](const StatusOr<json::value>& removed) {
           if (!removed.ok() && removed.status().code() != StatusCode::kNotFound) {
             KGPU_LOG(kWarning, "function left in part", {"function", order_.key},
                      {"reason", Message(removed.status())});
           }
           Fail(status);
         });
  }

  void Fail(Status status) { Finish(std::move(status)); }

  // Destroys this.
  void Finish(StatusOr<Deployed> result) {
    const auto done = std::move(done_);
    owner_.End(number_);
    done(std::move(result));
  }

  Deployer& owner_;
  const uint64_t number_;
  DeployOrder order_;
  std::function<void(StatusOr<Deployed>)> done_;
  ManifestOptions manifest_;
  std::deque<std::string> unread_;       // secrets
  std::optional<json::value> existing_;  // which `edit` has seen
  FunctionObjects objects_;
  json::value deployment_;
  FunctionProvider::Notes notes_;
  size_t part_ = 0;
  int conflicts_ = 0;
  std::unique_ptr<kube::Call> call_;
};

Deployer::Deployer(EventLoop& loop, kube::Client& client, DeployerOptions options)
    : loop_(loop), client_(client), options_(std::move(options)) {
}

Deployer::~Deployer() = default;

void Deployer::Deploy(DeployOrder order, std::function<void(StatusOr<Deployed>)> done) {
  const uint64_t number = ++last_job_;
  auto job = std::make_unique<Job>(*this, number, std::move(order), std::move(done));
  Job* begun = job.get();
  jobs_.emplace(number, std::move(job));
  // It may end at once, and `done` comes from the loop.
  loop_.Post(lifetime_.Bind([this, number, begun] {
    if (jobs_.contains(number)) {
      begun->Begin();
    }
  }));
}

void Deployer::End(uint64_t number) {
  jobs_.erase(number);
}

void Deployer::Delete(const std::string& space, const std::string& name,
                      std::function<void(Status)> done) {
  const uint64_t number = ++last_job_;
  deletions_[number] = client_.Send(
      kube::DeleteRequest(kDeployments.Object(space, name), {.propagation = "Background"}),
      [this, number, done = std::move(done)](const StatusOr<json::value>& removed) {
        const auto call = deletions_.extract(number);
        done(removed.status());
      });
}

}  // namespace kgpu::functions
