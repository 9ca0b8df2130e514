#include "src/cluster/install/installer.h"

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/cluster/install/leftovers.h"
#include "src/kube/api/json.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using kube::ObjectRef;

class Installer {
 public:
  Installer(kube::BlockingClient& client, kube::Kinds& kinds, const InstallRequest& request,
            InstallReport& report)
      : client_(client), kinds_(kinds), request_(request), report_(report) {}

  Status Run() {
    ASSIGN_OR_RETURN(before_, ReadRecord(client_, request_.space));
    report_.version_before = before_ ? before_->version : "";
    RETURN_IF_ERROR(LookAtObjects());
    RETURN_IF_ERROR(CheckOldSpaces());
    if (request_.is_dry_run) {
      RETURN_IF_ERROR(Apply(request_.objects));
      return RemoveOld();
    }
    RETURN_IF_ERROR(ApplySpace());
    RETURN_IF_ERROR(Write(false));
    RETURN_IF_ERROR(Apply(request_.objects));
    RETURN_IF_ERROR(RemoveOld());
    return Write(true);
  }

 private:
  // The objects that exist before the installation, and their owners.
  Status LookAtObjects() {
    for (const json::value& object : request_.objects) {
      const ObjectRef ref = kube::RefOf(object);
      if (const InstalledObject* known = before_ ? before_->Find(ref) : nullptr) {
        after_.push_back(*known);
        continue;
      }
      ASSIGN_OR_RETURN(const std::optional<json::value> live, Find(ref));
      const bool existed = live && !IsOurs(*live);
      if (existed && kube::OrderOf(ref) >= kube::kWorkloadOrder) {
        return FailedPrecondition(
            "{} exists already and is managed by {}: upgrade it the way it was installed, or "
            "remove it first",
            kube::TextOf(ref), OtherManagerOf(*live));
      }
      if (ref.kind == "Namespace" && ref.name == request_.space) {
        has_space_ = live.has_value();
      }
      after_.push_back({.ref = ref, .existed = existed});
    }
    return OkStatus();
  }

  // A namespace that is no longer rendered would take along what people have put into it.
  Status CheckOldSpaces() {
    for (const InstalledObject& object : OldObjects()) {
      const std::string& space = object.ref.name;
      if (object.ref.kind != "Namespace" || object.existed || space == request_.space) {
        continue;
      }
      ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(space));
      if (!names.empty()) {
        return FailedPrecondition(
            "Namespace {} is no longer part of the installation and would be removed, but holds "
            "{}: delete that first (functions with kgpu fn delete), or keep the namespace in "
            "functions.namespaces; nothing was changed",
            space, SomeOf(names));
      }
    }
    return OkStatus();
  }

  // Functions, and what is not ours.
  StatusOr<std::vector<std::string>> NamesIn(const std::string& space) {
    ASSIGN_OR_RETURN(const SpaceContents contents, LookIntoSpace(client_, kinds_, space));
    std::vector<std::string> names;
    for (const ObjectRef& ref : contents.own) {
      if (ref.kind == "Deployment") {
        names.push_back(kube::TextOf(ref));
      }
    }
    for (const ObjectRef& ref : contents.foreign) {
      names.push_back(kube::TextOf(ref));
    }
    return names;
  }

  StatusOr<std::optional<json::value>> Find(const ObjectRef& ref) {
    const StatusOr<std::string> path = kinds_.PathOf(ref);
    if (path.status().code() == StatusCode::kNotFound) {
      return std::optional<json::value>();  // a kind that is defined by an object of the set
    }
    RETURN_IF_ERROR(path.status());
    StatusOr<json::value> object =
        kube::SendUntilReached(client_, {.path = *path}, request_.reach_time);
    if (object.status().code() == StatusCode::kNotFound) {
      return std::optional<json::value>();
    }
    RETURN_IF_ERROR(object.status());
    return std::optional(*std::move(object));
  }

  // The namespace comes before the record, which lies in it. One that exists is changed after the
  // record, which says that it existed.
  Status ApplySpace() {
    if (has_space_) {
      return OkStatus();
    }
    std::vector<json::value> space;
    std::ranges::copy_if(request_.objects, std::back_inserter(space), [&](const json::value& item) {
      return kube::RefOf(item).kind == "Namespace" && kube::NameOf(item) == request_.space;
    });
    return Apply(space);
  }

  Status Apply(const std::vector<json::value>& objects) {
    const std::vector<kube::ApplyResult> results = kube::ApplyObjects(
        client_, kinds_, objects,
        {.field_manager = std::string(kManager),
         .force = request_.force,
         .is_dry_run = request_.is_dry_run,
         .replaces_kubectl = [this](const ObjectRef& ref) { return !Existed(ref); },
         .reach_time = request_.reach_time,
         .on_result =
             [this](const kube::ApplyResult& result) {
               if (result.outcome != kube::ApplyOutcome::kUnchanged) {
                 Tell(fmt::format("{} {}", kube::TextOf(result.ref),
                                  kube::ToString(result.outcome)));
               }
             }});
    for (const kube::ApplyResult& result : results) {
      Note(result);
    }
    return kube::StatusOfResults(results);
  }

  // Before the installation, as somebody else's.
  bool Existed(const ObjectRef& ref) const {
    const auto known = std::ranges::find(after_, ref, &InstalledObject::ref);
    return known == after_.end() || known->existed;
  }

  // The namespace is applied twice: what was done first counts.
  void Note(const kube::ApplyResult& result) {
    const auto known = std::ranges::find(report_.applied, result.ref, &kube::ApplyResult::ref);
    if (known == report_.applied.end()) {
      report_.applied.push_back(result);
    } else if (known->outcome == kube::ApplyOutcome::kUnchanged || !result.status.ok()) {
      *known = result;
    }
  }

  // Objects that are no longer rendered; an object of another owner stays.
  Status RemoveOld() {
    std::vector<kube::RemoveTarget> targets;
    for (const InstalledObject& object : OldObjects()) {
      ASSIGN_OR_RETURN(const std::optional<json::value> live, Find(object.ref));
      if (!live || (!object.existed && !IsOurs(*live))) {
        continue;
      }
      if (!object.existed) {
        targets.push_back({object.ref, std::string(kube::TextField(*live, {"metadata", "uid"}))});
      } else if (!request_.is_dry_run) {
        RETURN_IF_ERROR(ReleaseFields(client_, kinds_, object.ref));
      }
    }
    report_.removed = kube::RemoveObjects(
        client_, kinds_, std::move(targets),
        {.is_dry_run = request_.is_dry_run,
         .reach_time = request_.reach_time,
         .on_result = [this](const kube::RemoveResult& result) {
           Tell(fmt::format("{} {}", kube::TextOf(result.ref), kube::ToString(result.outcome)));
         }});
    return kube::StatusOfResults(report_.removed);
  }

  std::vector<InstalledObject> OldObjects() const {
    std::vector<InstalledObject> old;
    for (const InstalledObject& object :
         before_ ? before_->objects : std::vector<InstalledObject>()) {
      if (std::ranges::find(after_, object.ref, &InstalledObject::ref) == after_.end()) {
        old.push_back(object);
      }
    }
    return old;
  }

  Status Write(bool is_complete) {
    Record record{.version = request_.version,
                  .is_complete = is_complete,
                  .request = request_.request,
                  .objects = after_};
    if (!is_complete) {
      const std::vector<InstalledObject> old = OldObjects();
      record.objects.insert(record.objects.end(), old.begin(), old.end());
    }
    return WriteRecord(client_, request_.space, record);
  }

  void Tell(const std::string& text) const {
    if (request_.on_progress) {
      request_.on_progress(text);
    }
  }

  kube::BlockingClient& client_;
  kube::Kinds& kinds_;
  const InstallRequest& request_;
  InstallReport& report_;
  std::optional<Record> before_;
  std::vector<InstalledObject> after_;
  bool has_space_ = false;
};

}  // namespace

Status Install(kube::BlockingClient& client, kube::Kinds& kinds, const InstallRequest& request,
               InstallReport& report) {
  return Installer(client, kinds, request, report).Run();
}

std::vector<ObjectRef> WorkloadsOf(const std::vector<json::value>& objects) {
  std::vector<ObjectRef> workloads;
  for (const json::value& object : objects) {
    ObjectRef ref = kube::RefOf(object);
    if (ref.kind == "DaemonSet" || ref.kind == "Deployment") {
      workloads.push_back(std::move(ref));
    }
  }
  return workloads;
}

Status ReleaseFields(kube::BlockingClient& client, kube::Kinds& kinds, const ObjectRef& ref) {
  ASSIGN_OR_RETURN(const std::string path, kinds.PathOf(ref));
  json::object metadata{{"name", ref.name}};
  if (!ref.space.empty()) {
    metadata["namespace"] = ref.space;
  }
  ASSIGN_OR_RETURN(const kube::ApiRequest request,
                   kube::ApplyRequest(path,
                                      json::object{{"apiVersion", ref.api_version},
                                                   {"kind", ref.kind},
                                                   {"metadata", std::move(metadata)}},
                                      true, {.field_manager = std::string(kManager)}));
  return Annotate(
      kube::SendUntilReached(client, request, std::chrono::milliseconds(30'000)).status(), "{}",
      kube::TextOf(ref));
}

}  // namespace kgpu::install
