#include "src/node/dra/slice_plan.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/time_text.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;

constexpr size_t kMaxName = 253;

// Objects with their keys in order, so that equal ones have equal texts; quantities as they come.
json::value Sorted(const json::value& value) {
  if (const json::array* list = value.if_array(); list != nullptr) {
    json::array copy;
    for (const json::value& item : *list) {
      copy.push_back(Sorted(item));
    }
    return copy;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return value;
  }
  std::map<std::string, json::value> fields;
  for (const auto& [key, field] : *object) {
    fields[std::string(key)] = Sorted(field);
  }
  json::object copy;
  for (auto& [key, field] : fields) {
    copy[key] = std::move(field);
  }
  return copy;
}

json::array* ListIn(json::object& object, std::string_view name) {
  json::value* list = object.if_contains(name);
  return list == nullptr ? nullptr : list->if_array();
}

// Calls `visit` with each taint of a spec, and the name of its device.
template <typename Visit>
void ForEachTaint(json::object& spec, Visit visit) {
  json::array* devices = ListIn(spec, "devices");
  for (size_t i = 0; devices != nullptr && i < devices->size(); ++i) {
    json::object* device = devices->at(i).if_object();
    json::array* taints = device == nullptr ? nullptr : ListIn(*device, "taints");
    for (size_t j = 0; taints != nullptr && j < taints->size(); ++j) {
      if (json::object* taint = taints->at(j).if_object(); taint != nullptr) {
        visit(std::string(kube::TextField(devices->at(i), {"name"})), *taint);
      }
    }
  }
}

// Equal for a taint that is the same as before.
std::string TaintKey(const std::string& device, const json::object& taint) {
  json::object copy = taint;
  copy.erase("timeAdded");
  return fmt::format("{} {}", device, json::serialize(Sorted(copy)));
}

json::object SpecOf(const json::value& slice) {
  const json::value* spec = kube::FindField(slice, {"spec"});
  return spec != nullptr && spec->is_object() ? spec->get_object() : json::object();
}

int64_t GenerationOf(const json::value& slice) {
  return kube::IntField(slice, {"spec", "pool", "generation"}).value_or(0);
}

bool IsOwnedBy(const json::value& slice, const std::string& uid) {
  const json::value* owners = kube::FindField(slice, {"metadata", "ownerReferences"});
  const json::array* list = owners == nullptr ? nullptr : owners->if_array();
  return list != nullptr && std::ranges::any_of(*list, [&](const json::value& owner) {
           return kube::TextField(owner, {"uid"}) == uid;
         });
}

class Planner {
 public:
  Planner(const WantedSlices& wanted, const std::map<std::string, json::value>& existing,
          const TakenSpecs& taken, WallTime now)
      : wanted_(wanted), existing_(existing), taken_(taken), now_(now) {
    for (const auto& [name, slice] : existing) {
      generation_ = std::max(generation_, GenerationOf(slice));
    }
  }

  std::optional<SliceWrite> Next() {
    std::vector<std::string> stale;    // there, and not as it should be
    std::vector<std::string> missing;  // not there
    for (const auto& [name, spec] : wanted_.specs) {
      const auto found = existing_.find(name);
      if (found == existing_.end()) {
        missing.push_back(name);
      } else if (!IsAsWanted(found->second, spec)) {
        stale.push_back(name);
      }
    }
    if (const json::value* extra = FindExtra(); extra != nullptr) {
      return Delete(*extra);
    }
    if (stale.empty() && missing.empty()) {
      return std::nullopt;
    }
    // One write is enough if the others are complete without it.
    const bool is_one = stale.size() == 1 && missing.empty() && IsCountRight(stale.front());
    if (is_one || IsUnderWay(stale)) {
      return Put(stale.empty() ? missing.front() : stale.front(),
                 std::max<int64_t>(generation_, 1));
    }
    return Put(stale.empty() ? missing.front() : stale.front(), generation_ + 1);
  }

 private:
  int64_t Count() const { return static_cast<int64_t>(wanted_.specs.size()); }

  bool IsCountRight(const std::string& name) const {
    const json::value& slice = existing_.at(name);
    return GenerationOf(slice) == generation_ &&
           kube::IntField(slice, {"spec", "pool", "resourceSliceCount"}) == Count();
  }

  bool HasContent(const json::value& slice, const json::object& spec) const {
    const std::string content = ContentOf(spec);
    const std::string stored = ContentOf(SpecOf(slice));
    const auto found = taken_.find(content);
    return stored == content || (found != taken_.end() && found->second == stored);
  }

  bool IsAsWanted(const json::value& slice, const json::object& spec) const {
    return HasContent(slice, spec) && IsOwnedBy(slice, wanted_.node.uid) &&
           GenerationOf(slice) == generation_ &&
           kube::IntField(slice, {"spec", "pool", "resourceSliceCount"}) == Count();
  }

  // Whether the highest generation has only slices of this very state: it was begun for it.
  bool IsUnderWay(const std::vector<std::string>& stale) const {
    return std::ranges::none_of(stale, [&](const std::string& name) {
      return GenerationOf(existing_.at(name)) == generation_;
    });
  }

  // One that this node should not have: also of another driver program with our name.
  const json::value* FindExtra() const {
    for (const auto& [name, slice] : existing_) {
      if (!wanted_.specs.contains(name)) {
        return &slice;
      }
    }
    return nullptr;
  }

  static SliceWrite Delete(const json::value& slice) {
    return {.name = std::string(kube::NameOf(slice)),
            .uid = std::string(kube::TextField(slice, {"metadata", "uid"}))};
  }

  SliceWrite Put(const std::string& name, int64_t generation) const {
    json::object spec = wanted_.specs.at(name);
    json::object& pool = spec["pool"].as_object();
    pool["generation"] = generation;
    pool["resourceSliceCount"] = Count();
    Date(name, spec);
    return {.name = name,
            .object = {{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceSlice"},
                       {"metadata",
                        {{"name", name},
                         {"ownerReferences",
                          {{{"apiVersion", "v1"},
                            {"kind", "Node"},
                            {"name", wanted_.node.name},
                            {"uid", wanted_.node.uid},
                            {"controller", true}}}}}},
                       {"spec", std::move(spec)}}};
  }

  // A taint that was there keeps its time, in whichever slice it was.
  void Date(const std::string& name, json::object& spec) const {
    std::map<std::string, json::value> times;
    for (const auto& entry : existing_) {
      const bool is_same = entry.first == name;
      json::object old = SpecOf(entry.second);
      ForEachTaint(old, [&](const std::string& device, json::object& taint) {
        if (const json::value* time = taint.if_contains("timeAdded");
            time != nullptr && (is_same || !times.contains(TaintKey(device, taint)))) {
          times[TaintKey(device, taint)] = *time;
        }
      });
    }
    ForEachTaint(spec, [&](const std::string& device, json::object& taint) {
      const auto found = times.find(TaintKey(device, taint));
      taint["timeAdded"] = found == times.end() ? json::value(FormatTime(now_)) : found->second;
    });
  }

  const WantedSlices& wanted_;
  const std::map<std::string, json::value>& existing_;
  const TakenSpecs& taken_;
  const WallTime now_;
  int64_t generation_ = 0;
};

}  // namespace

WantedSlices NameSlices(const NodeIdentity& node, std::vector<json::object> specs) {
  WantedSlices wanted{.node = node};
  for (size_t i = 0; i < specs.size(); ++i) {
    std::string name = fmt::format("{:05}-{}-", i, kDriverName);
    name += node.name.substr(0, kMaxName - name.size());
    while (name.ends_with('.') || name.ends_with('-')) {
      name.pop_back();
    }
    wanted.specs.emplace(std::move(name), std::move(specs[i]));
  }
  return wanted;
}

std::string ContentOf(const json::object& spec) {
  json::object copy = spec;
  if (json::value* pool = copy.if_contains("pool"); pool != nullptr && pool->is_object()) {
    pool->get_object().erase("generation");
    pool->get_object().erase("resourceSliceCount");
  }
  ForEachTaint(copy, [](const std::string&, json::object& taint) { taint.erase("timeAdded"); });
  return json::serialize(Sorted(copy));
}

std::optional<SliceWrite> NextWrite(const WantedSlices& wanted,
                                    const std::map<std::string, json::value>& existing,
                                    const TakenSpecs& taken, WallTime now) {
  return Planner(wanted, existing, taken, now).Next();
}

}  // namespace kgpu::dra
