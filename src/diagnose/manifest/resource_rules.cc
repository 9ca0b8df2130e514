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

constexpr std::string_view kOldKey = "alpha.kubernetes.io/nvidia-gpu";
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
  Checker(const json::value& container, const Path& path, Findings& findings)
      : resources_(FieldOf(&container, "resources")),
        path_(path.Key("resources")),
        findings_(findings) {}

  void Check() {
    for (const std::string_view list : {"limits", "requests"}) {
      CheckOldKey(list);
      CheckFractions(list);
    }
    CheckRequests();
  }

 private:
  const json::value* Get(std::string_view list, std::string_view key) const {
    return FieldOf(FieldOf(resources_, list), key);
  }

  void CheckOldKey(std::string_view list) {
    const json::value* value = Get(list, kOldKey);
    if (value == nullptr) {
      return;
    }
    Finding finding;
    finding.id = "resource-key-gone";
    finding.path = path_.Key(list).Key(kOldKey);
    finding.value = Shown(*value);
    finding.gone_by = "1.11";
    finding.mend_from = KubernetesVersion{1, 8};
    finding.message = "no node has this resource any more: the pod stays pending";
    finding.mend = fmt::format("{}: {}", kKey, finding.value);
    const bool has_both = Get(list, kKey) != nullptr;
    finding.fix.push_back({has_both ? Change::Kind::kRemove : Change::Kind::kRename,
                           finding.path,
                           {},
                           std::string(kKey)});
    findings_.push_back(std::move(finding));
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
      Finding finding;
      finding.id = "gpu-fraction";
      finding.path = path_.Key(list).Key(key);
      finding.value = Shown(field.value());
      finding.message = "GPUs are counted whole: the API server refuses the pod";
      finding.mend =
          "ask for 1 of a shared resource; a pool with share makes one "
          "(docs/configuration.md)";
      findings_.push_back(std::move(finding));
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
    Finding finding;
    finding.path = path_.Key("requests").Key(key);
    finding.value = Shown(request);
    if (limit == nullptr) {
      finding.id = "gpu-request-without-limit";
      finding.message = "a request for GPUs needs the same limit: the API server refuses the pod";
      finding.mend = fmt::format("limits: {{{}: {}}}", key, finding.value);
      const Path limits = path_.Key("limits");
      const bool has_limits = FieldOf(resources_, "limits") != nullptr;
      json::object map;
      map.emplace(json::string_view(key.data(), key.size()), request);
      finding.fix.push_back({Change::Kind::kSet, has_limits ? limits.Key(key) : limits,
                             has_limits ? request : json::value(std::move(map)), ""});
    } else {
      finding.id = "gpu-request-differs";
      finding.message =
          fmt::format("its limit is {}: the API server refuses the pod", Shown(*limit));
      finding.mend = fmt::format("requests: {{{}: {}}}", key, Shown(*limit));
      finding.fix.push_back({Change::Kind::kSet, finding.path, *limit, ""});
    }
    findings_.push_back(std::move(finding));
  }

  const json::value* resources_;
  Path path_;
  Findings& findings_;
};

}  // namespace

bool IsGpuKey(std::string_view key) {
  return key.starts_with("nvidia.com/") || key == "amd.com/gpu";
}

void CheckResources(const PodSpec& pod, Findings& findings) {
  for (const Container& container : ContainersOf(pod)) {
    Checker(*container.value, container.path, findings).Check();
  }
}

namespace {

// "requests.alpha.kubernetes.io/nvidia-gpu" of a quota, the bare key of a range.
void CheckCountKeys(const json::value* map, const Path& at, Findings& findings) {
  const json::object* fields = map == nullptr ? nullptr : map->if_object();
  for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
    const auto& field = *(fields->begin() + i);
    const std::string_view key(field.key().data(), field.key().size());
    if (!key.ends_with(kOldKey)) {
      continue;
    }
    // A quota of extended resources is one of requests: there are no others.
    const std::string modern =
        key == kOldKey ? std::string(kKey) : fmt::format("requests.{}", kKey);
    Finding finding;
    finding.id = "resource-key-gone";
    finding.path = at.Key(key);
    finding.value = Shown(field.value());
    finding.gone_by = "1.11";
    finding.mend_from = KubernetesVersion{1, 9};
    finding.message = "no node has this resource any more: the rule bounds nothing";
    finding.mend = fmt::format("{}: {}", modern, finding.value);
    const bool has_both = FieldOf(map, modern) != nullptr;
    finding.fix.push_back(
        {has_both ? Change::Kind::kRemove : Change::Kind::kRename, finding.path, {}, modern});
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void CheckCounts(const json::value& object, const Path& at, Findings& findings) {
  const std::string_view kind = TextOf(&object, "kind");
  const json::value* spec = FieldOf(&object, "spec");
  if (kind == "ResourceQuota") {
    CheckCountKeys(FieldOf(spec, "hard"), at.Key("spec").Key("hard"), findings);
  } else if (kind == "LimitRange") {
    for (const Container& limit : ItemsOf(spec, at.Key("spec"), "limits")) {
      for (const std::string_view key :
           {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
        CheckCountKeys(FieldOf(limit.value, key), limit.path.Key(key), findings);
      }
    }
  }
}

}  // namespace kgpu::manifest
