// Every object of the cluster, one version counter, and a bounded history of changes: the role of
// etcd and the watch cache in a real server. Knows nothing about kinds.
#pragma once

#include <boost/json.hpp>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::apiserver {

// One version of an object. Immutable; shared by the store, its history and readers.
class Stored {
 public:
  Stored(boost::json::object object, uint64_t revision)
      : object_(std::move(object)), revision_(revision) {}
  const boost::json::object& object() const { return object_; }
  uint64_t revision() const { return revision_; }
  // Its JSON text, created once.
  const std::string& Text() const;

 private:
  boost::json::object object_;
  uint64_t revision_;
  mutable std::string text_;
};
using StoredPtr = std::shared_ptr<const Stored>;

struct ObjectKey {
  std::string name_space{};  // "" for what has none
  std::string name{};
  auto operator<=>(const ObjectKey&) const = default;
};

enum class ChangeType : uint8_t { kAdded, kModified, kDeleted };

struct Change {
  uint64_t revision = 0;
  ChangeType type = ChangeType::kAdded;
  std::string storage{};  // Resource::StorageName
  ObjectKey key;
  StoredPtr object;    // of a deletion: the last state, with the deletion's version
  StoredPtr previous;  // null for an addition
};

using ObjectMap = std::map<ObjectKey, StoredPtr>;

// Loop thread only.
class Store {
 public:
  explicit Store(size_t max_history) : max_history_(max_history) {}

  // The version of the last change anywhere.
  uint64_t revision() const { return revision_; }
  // Changes up to this one are no longer known.
  uint64_t compacted() const { return compacted_; }
  size_t objects() const;

  StoredPtr Get(std::string_view storage, const ObjectKey& key) const;
  const ObjectMap& All(std::string_view storage) const;
  // Like All, as of `revision`, which must not be compacted.
  ObjectMap AllAt(std::string_view storage, uint64_t revision) const;

  // Whether an object names this uid as an owner of it.
  bool IsOwner(std::string_view uid) const { return owners_.contains(uid); }

  // Sets metadata.resourceVersion. Adds or replaces.
  StoredPtr Put(std::string_view storage, const ObjectKey& key, boost::json::object object);
  StoredPtr Remove(std::string_view storage, const ObjectKey& key);

  // Drops the history except for the newest `keep` changes, like etcd's compaction.
  void Compact(size_t keep = 0);
  // Changes after `revision`, oldest first.
  void ForEachSince(uint64_t revision, const std::function<void(const Change&)>& use) const;
  // Called after each change. One listener.
  void SetListener(std::function<void(const Change&)> listener) { listener_ = std::move(listener); }

 private:
  void Record(Change change);
  void CountOwners(const boost::json::object& object, bool is_added);

  size_t max_history_;
  uint64_t revision_ = 1;
  uint64_t compacted_ = 0;
  std::map<std::string, ObjectMap, std::less<>> objects_;
  std::map<std::string, size_t, std::less<>> owners_;  // by uid: how many objects name it
  std::deque<Change> history_;
  std::function<void(const Change&)> listener_;
};

}  // namespace kgpu::apiserver
