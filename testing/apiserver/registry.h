// Reads and writes of objects with a real server's rules: identity, versions, subresources,
// validation, field managers, deletion. Knows no HTTP.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "testing/apiserver/managed_fields.h"
#include "testing/apiserver/resource.h"
#include "testing/apiserver/store.h"

namespace kgpu::apiserver {

struct WriteOptions {
  std::string manager{};      // of fields
  std::string subresource{};  // "" or "status"
  bool is_dry_run = false;
  bool force = false;  // an apply takes fields that others hold
};

struct DeleteOptions {
  std::string uid{};  // preconditions; "": none
  std::string resource_version{};
  int64_t grace_seconds = -1;  // -1: the object's own
  bool orphans = false;        // dependents stay
  bool is_dry_run = false;
};

struct Written {
  StoredPtr object;
  bool is_created = false;
  bool has_changed = true;  // false: there was nothing to write
  bool is_gone = false;     // of a deletion: the object is already gone
};

enum class PatchType : uint8_t { kMerge, kJson, kStrategic };

struct RegistryOptions {
  // Time from the deletion of a pod that runs on a node until it is gone. There is no kubelet here.
  std::chrono::milliseconds pod_stop_time{0};
  uint64_t seed = 1;  // of uids and generated names
};

// Loop thread only. `loop`, `store` and `resources` outlive it.
class Registry {
 public:
  Registry(EventLoop& loop, Store& store, ResourceTable& resources, RegistryOptions options);

  // Errors of all: Failures.
  StatusOr<StoredPtr> Get(const Resource& resource, const ObjectKey& key) const;
  StatusOr<Written> Create(const Resource& resource, const std::string& name_space,
                           boost::json::object object, const WriteOptions& options);
  StatusOr<Written> Update(const Resource& resource, const ObjectKey& key,
                           boost::json::object object, const WriteOptions& options);
  StatusOr<Written> Patch(const Resource& resource, const ObjectKey& key, PatchType type,
                          const boost::json::value& patch, const WriteOptions& options);
  StatusOr<Written> Apply(const Resource& resource, const ObjectKey& key,
                          const boost::json::object& applied, const WriteOptions& options);
  StatusOr<Written> Delete(const Resource& resource, const ObjectKey& key,
                           const DeleteOptions& options);
  // Like the eviction subresource of a pod: checks PodDisruptionBudgets first.
  StatusOr<Written> Evict(const ObjectKey& pod, const DeleteOptions& options);

  std::string Now() const;
  std::string NewUid();

 private:
  StatusOr<Written> Insert(const Resource& resource, boost::json::object object,
                           const WriteOptions& options, bool tracks);
  StatusOr<Written> Replace(const Resource& resource, const ObjectKey& key,
                            const boost::json::object& before, boost::json::object after,
                            const WriteOptions& options, bool tracks);
  Status CheckIdentity(const Resource& resource, const boost::json::object& before,
                       const boost::json::object& after) const;
  Status CheckPlace(const Resource& resource, const std::string& name_space,
                    boost::json::object& object) const;
  Status NameObject(const Resource& resource, boost::json::object& object);
  StoredPtr Save(const Resource& resource, const ObjectKey& key, const boost::json::object& object);
  void Vanish(const Resource& resource, const ObjectKey& key, bool orphans);
  void RemoveDependents(std::string_view uid);
  static bool HasFinalizers(const boost::json::object& object);
  StatusOr<Written> MarkDeleted(const Resource& resource, const ObjectKey& key, int64_t grace);
  StatusOr<Written> StopPod(const Resource& resource, const ObjectKey& key, int64_t grace);
  uint64_t Random();

  EventLoop& loop_;
  Store& store_;
  ResourceTable& resources_;
  RegistryOptions options_;
  uint64_t random_;
  // Timers of pods that stop hold it weakly: they may outlive us.
  std::shared_ptr<Registry*> self_;
};

// Fills in what a kind gets if the client left it out, and normalises spellings. `is_new`: it is
// being created, at the time `now`.
void FillIn(const Resource& resource, boost::json::object& object, bool is_new,
            std::string_view now);

}  // namespace kgpu::apiserver
