#include "testing/apiserver/store.h"

#include <algorithm>

#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {

namespace json = boost::json;

const std::string& Stored::Text() const {
  if (text_.empty()) {
    text_ = json::serialize(object_);
  }
  return text_;
}

size_t Store::objects() const {
  size_t count = 0;
  for (const auto& [storage, map] : objects_) {
    count += map.size();
  }
  return count;
}

StoredPtr Store::Get(std::string_view storage, const ObjectKey& key) const {
  const ObjectMap& map = All(storage);
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

const ObjectMap& Store::All(std::string_view storage) const {
  static const ObjectMap kNone;
  const auto found = objects_.find(storage);
  return found == objects_.end() ? kNone : found->second;
}

ObjectMap Store::AllAt(std::string_view storage, uint64_t revision) const {
  ObjectMap map = All(storage);
  for (auto change = history_.rbegin(); change != history_.rend(); ++change) {
    if (change->revision <= revision) {
      break;
    }
    if (change->storage != storage) {
      continue;
    }
    if (change->previous == nullptr) {
      map.erase(change->key);
    } else {
      map[change->key] = change->previous;
    }
  }
  return map;
}

StoredPtr Store::Put(std::string_view storage, const ObjectKey& key, json::object object) {
  ++revision_;
  MakeObject(object, "metadata")["resourceVersion"] = std::to_string(revision_);
  const auto stored = std::make_shared<const Stored>(std::move(object), revision_);
  auto found = objects_.find(storage);
  if (found == objects_.end()) {
    found = objects_.emplace(storage, ObjectMap()).first;
  }
  StoredPtr& slot = found->second[key];
  StoredPtr previous = std::exchange(slot, stored);
  Record({.revision = revision_,
          .type = previous == nullptr ? ChangeType::kAdded : ChangeType::kModified,
          .storage = std::string(storage),
          .key = key,
          .object = stored,
          .previous = std::move(previous)});
  return stored;
}

StoredPtr Store::Remove(std::string_view storage, const ObjectKey& key) {
  const auto map = objects_.find(storage);
  if (map == objects_.end() || !map->second.contains(key)) {
    return nullptr;
  }
  const StoredPtr previous = map->second.extract(key).mapped();
  ++revision_;
  json::object last = previous->object();
  MakeObject(last, "metadata")["resourceVersion"] = std::to_string(revision_);
  const auto stored = std::make_shared<const Stored>(std::move(last), revision_);
  Record({.revision = revision_,
          .type = ChangeType::kDeleted,
          .storage = std::string(storage),
          .key = key,
          .object = stored,
          .previous = previous});
  return stored;
}

void Store::CountOwners(const json::object& object, bool is_added) {
  for (const json::value& owner : ItemsAt(object, {"metadata", "ownerReferences"})) {
    const std::string uid(owner.is_object() ? TextAt(owner.get_object(), {"uid"}) : "");
    size_t& count = owners_[uid];
    count = is_added ? count + 1 : count - 1;
    if (count == 0) {
      owners_.erase(uid);
    }
  }
}

void Store::Record(Change change) {
  if (change.previous != nullptr) {
    CountOwners(change.previous->object(), false);
  }
  if (change.type != ChangeType::kDeleted) {
    CountOwners(change.object->object(), true);
  }
  history_.push_back(change);
  if (history_.size() > max_history_) {
    compacted_ = history_.front().revision;
    history_.pop_front();
  }
  if (listener_) {
    listener_(change);
  }
}

void Store::Compact(size_t keep) {
  while (history_.size() > keep) {
    history_.pop_front();
  }
  compacted_ = history_.empty() ? revision_ : history_.front().revision - 1;
}

void Store::ForEachSince(uint64_t revision, const std::function<void(const Change&)>& use) const {
  auto first = std::ranges::upper_bound(history_, revision, {}, &Change::revision);
  for (; first != history_.end(); ++first) {
    use(*first);
  }
}

}  // namespace kgpu::apiserver
