// GPUs that a container asks for: keys, limits, whole numbers.
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/diagnose/manifest/containers.h"
#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

constexpr std::string_view kKey = "nvidia.com/gpu";

// "1" and 1 are the same quantity.
std::string QuantityOf(const json::value& value) {
  if (const json::string* text = value.if_string()) {
    return std::string(View(*text));
  }
  return Shown(value);
}

bool IsWhole(const json::value& value) {
  const std::string text = QuantityOf(value);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

class Checker {
 public:
  Checker(const json::value& container, const Path& path, Matches& matches)
      : resources_(FieldOf(&container, "resources")),
        path_(path.Key("resources")),
        matches_(matches) {}

  void Check() {
    for (const std::string_view list : {"limits", "requests"}) {
      CheckOldGpuKey(list);
      CheckFractions(list);
    }
    CheckRequests();
  }

 private:
  const json::value* Get(std::string_view list, std::string_view key) const {
    return FieldOf(FieldOf(resources_, list), key);
  }

  void CheckOldGpuKey(std::string_view list) {
    const json::value* value = Get(list, kOldGpuKey);
    if (value == nullptr) {
      return;
    }
    Match match;
    match.finding.id = "resource-key-gone";
    match.path = path_.Key(list).Key(kOldGpuKey);
    match.value = Shown(*value);
    match.gone_by = "1.11";
    match.works_from = KubernetesVersion{1, 8};
    match.finding.message = "no node has this resource any more: the pod stays pending";
    match.advice = fmt::format("{}: {}", kKey, match.value);
    const bool has_both = Get(list, kKey) != nullptr;
    match.changes.push_back({has_both ? Change::Kind::kRemove : Change::Kind::kRename,
                             match.path,
                             {},
                             std::string(kKey)});
    matches_.push_back(std::move(match));
  }

  void CheckFractions(std::string_view list) {
    const json::value* resources = FieldOf(resources_, list);
    const json::object* fields = resources == nullptr ? nullptr : resources->if_object();
    for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
      const auto& field = *(fields->begin() + i);
      const std::string_view key(field.key().data(), field.key().size());
      if (!IsGpuKey(key) || IsWhole(field.value())) {
        continue;
      }
      Match match;
      match.finding.id = "gpu-fraction";
      match.path = path_.Key(list).Key(key);
      match.value = Shown(field.value());
      match.finding.message = "GPUs must be integers: the API server rejects the pod";
      match.advice =
          "request 1 of a shared resource, created by a pool with share "
          "(docs/reference/configuration.md)";
      matches_.push_back(std::move(match));
    }
  }

  void CheckRequests() {
    const json::value* requests = FieldOf(resources_, "requests");
    const json::object* fields = requests == nullptr ? nullptr : requests->if_object();
    for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
      const auto& field = *(fields->begin() + i);
      const std::string_view key(field.key().data(), field.key().size());
      if (IsGpuKey(key)) {
        CheckRequest(key, field.value());
      }
    }
  }

  void CheckRequest(std::string_view key, const json::value& request) {
    const json::value* limit = Get("limits", key);
    if (limit != nullptr && QuantityOf(*limit) == QuantityOf(request)) {
      return;
    }
    Match match;
    match.path = path_.Key("requests").Key(key);
    match.value = Shown(request);
    if (limit == nullptr) {
      match.finding.id = "gpu-request-without-limit";
      match.finding.message = "a GPU request needs an equal limit: the API server rejects the pod";
      match.advice = fmt::format("limits: {{{}: {}}}", key, match.value);
      const Path limits = path_.Key("limits");
      const bool has_limits = FieldOf(resources_, "limits") != nullptr;
      json::object map;
      map.emplace(json::string_view(key.data(), key.size()), request);
      match.changes.push_back({Change::Kind::kSet, has_limits ? limits.Key(key) : limits,
                               has_limits ? request : json::value(std::move(map)), ""});
    } else {
      match.finding.id = "gpu-request-differs";
      match.finding.message =
          fmt::format("its limit is {}: the API server rejects the pod", Shown(*limit));
      match.advice = fmt::format("requests: {{{}: {}}}", key, Shown(*limit));
      match.changes.push_back({Change::Kind::kSet, match.path, *limit, ""});
    }
    matches_.push_back(std::move(match));
  }

  const json::value* resources_;
  Path path_;
  Matches& matches_;
};

}  // namespace

bool IsGpuKey(std::string_view key) {
  return key.starts_with("nvidia.com/") || key == "amd.com/gpu";
}

void CheckResources(const PodSpec& pod, Matches& matches) {
  for (const Container& container : ContainersOf(pod)) {
    Checker(*container.value, container.path, matches).Check();
  }
}

namespace {

// "requests.alpha.kubernetes.io/nvidia-gpu" of a quota, the bare key of a range.
void CheckCountKeys(const json::value* map, const Path& at, Matches& matches) {
  const json::object* fields = map == nullptr ? nullptr : map->if_object();
  for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
    const auto& field = *(fields->begin() + i);
    const std::string_view key(field.key().data(), field.key().size());
    if (!key.ends_with(kOldGpuKey)) {
      continue;
    }
    // A quota of extended resources is one of requests: there are no others.
    const std::string modern =
        key == kOldGpuKey ? std::string(kKey) : fmt::format("requests.{}", kKey);
    Match match;
    match.finding.id = "resource-key-gone";
    match.path = at.Key(key);
    match.value = Shown(field.value());
    match.gone_by = "1.11";
    match.works_from = KubernetesVersion{1, 9};
    match.finding.message = "no node has this resource any more: the rule has no effect";
    match.advice = fmt::format("{}: {}", modern, match.value);
    const bool has_both = FieldOf(map, modern) != nullptr;
    match.changes.push_back(
        {has_both ? Change::Kind::kRemove : Change::Kind::kRename, match.path, {}, modern});
    matches.push_back(std::move(match));
  }
}

}  // namespace

void CheckCounts(const json::value& object, const Path& at, Matches& matches) {
  const std::string_view kind = TextOf(&object, "kind");
  const json::value* spec = FieldOf(&object, "spec");
  if (kind == "ResourceQuota") {
    CheckCountKeys(FieldOf(spec, "hard"), at.Key("spec").Key("hard"), matches);
  } else if (kind == "LimitRange") {
    for (const Container& limit : ItemsOf(spec, at.Key("spec"), "limits")) {
      for (const std::string_view key :
           {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
        CheckCountKeys(FieldOf(limit.value, key), limit.path.Key(key), matches);
      }
    }
  }
}

}  // namespace kgpu::manifest
