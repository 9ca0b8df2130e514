// Rules of ResourceClaims, their templates and DeviceClasses, as of 1.36. The expressions of
// selectors are not compiled here.
#include <boost/json.hpp>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/platform/base/strings.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/names.h"
#include "testing/apiserver/validation.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr size_t kMaxEntries = 32;  // requests, constraints, configurations, selectors, devices
constexpr size_t kMaxExpression = 10 << 10;
constexpr size_t kMaxParameters = 10 << 10;

// Calls `check` with each object in the list `name` and its path.
template <typename Check>
void ForEach(const json::object& object, std::string_view name, const std::string& path,
             size_t most, std::vector<Cause>& causes, Check check) {
  const json::array& items = ItemsAt(object, {name});
  if (items.size() > most) {
    causes.push_back(TooMany(fmt::format("{}.{}", path, name), items.size(), most));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_object()) {
      check(items[i].get_object(), fmt::format("{}.{}[{}]", path, name, i));
    }
  }
}

void Require(const json::object& object, std::string_view field, const std::string& path,
             std::optional<std::string> (*problem_of)(std::string_view),
             std::vector<Cause>& causes) {
  const std::string_view text = TextAt(object, {field});
  const std::string place = fmt::format("{}.{}", path, field);
  if (text.empty()) {
    causes.push_back(RequiredValue(place, ""));
  } else if (const auto problem = problem_of(text); problem) {
    causes.push_back(InvalidValue(place, text, *problem));
  }
}

void CheckSelectors(const json::object& object, const std::string& path,
                    std::vector<Cause>& causes) {
  ForEach(object, "selectors", path, kMaxEntries, causes,
          [&](const json::object& selector, const std::string& place) {
            const std::string_view text = TextAt(selector, {"cel", "expression"});
            if (text.empty()) {
              causes.push_back(RequiredValue(fmt::format("{}.cel", place), ""));
            } else if (text.size() > kMaxExpression) {
              causes.push_back(TooLong(fmt::format("{}.cel.expression", place), kMaxExpression));
            }
          });
}

void CheckOpaque(const json::object& config, const std::string& path, std::vector<Cause>& causes) {
  const json::object* opaque = ObjectAt(config, {"opaque"});
  if (opaque == nullptr) {
    causes.push_back(RequiredValue(path, "exactly one of the fields is required"));
    return;
  }
  Require(*opaque, "driver", fmt::format("{}.opaque", path), &DriverNameProblem, causes);
  const std::string place = fmt::format("{}.opaque.parameters", path);
  const json::value* parameters = opaque->if_contains("parameters");
  if (parameters == nullptr || !parameters->is_object()) {
    causes.push_back(parameters == nullptr
                         ? RequiredValue(place, "")
                         : InvalidValue(place, "<value omitted>", "must be a JSON object"));
  } else if (json::serialize(*parameters).size() > kMaxParameters) {
    causes.push_back(TooLong(place, kMaxParameters));
  }
}

// The rules that an exact request and each alternative of another one share.
void CheckAsked(const json::object& request, const std::string& path, std::vector<Cause>& causes) {
  Require(request, "deviceClassName", path, &SubdomainProblem, causes);
  CheckSelectors(request, path, causes);
  const std::string_view mode = TextAt(request, {"allocationMode"});
  const int64_t count = NumberAt(request, {"count"}, 0);
  const std::string place = fmt::format("{}.count", path);
  if (mode == "ExactCount" && count < 1) {
    causes.push_back(InvalidValue(place, std::to_string(count), "must be greater than zero"));
  } else if (mode == "All" && count != 0) {
    causes.push_back(InvalidValue(place, std::to_string(count),
                                  "must not be specified when allocationMode is 'All'"));
  } else if (mode != "All" && mode != "ExactCount") {
    causes.push_back(
        UnsupportedValue(fmt::format("{}.allocationMode", path), mode, {"All", "ExactCount"}));
  }
  ForEach(request, "tolerations", path, 16, causes,
          [&](const json::object& toleration, const std::string& at) {
            const std::string_view word = TextAt(toleration, {"operator"});
            if (word != "Equal" && word != "Exists") {
              causes.push_back(
                  UnsupportedValue(fmt::format("{}.operator", at), word, {"Equal", "Exists"}));
            } else if (word == "Exists" && !TextAt(toleration, {"value"}).empty()) {
              causes.push_back(InvalidValue(fmt::format("{}.value", at), "",
                                            "must be empty for operator `Exists`"));
            }
          });
}

using Names = std::set<std::string>;

// Adds the request's names to `names`: "r", and "r/s" of each alternative.
void CheckRequest(const json::object& request, const std::string& path, Names& names,
                  std::vector<Cause>& causes) {
  Require(request, "name", path, &DnsLabelProblem, causes);
  const std::string name(TextAt(request, {"name"}));
  if (!names.insert(name).second) {
    causes.push_back(DuplicateValue(fmt::format("{}.name", path), name));
  }
  const json::object* exactly = ObjectAt(request, {"exactly"});
  const bool has_alternatives = !ItemsAt(request, {"firstAvailable"}).empty();
  if ((exactly != nullptr) == has_alternatives) {
    causes.push_back(
        InvalidValue(path, "", "exactly one of `exactly` or `firstAvailable` is required"));
  }
  if (exactly != nullptr) {
    CheckAsked(*exactly, fmt::format("{}.exactly", path), causes);
  }
  ForEach(request, "firstAvailable", path, 8, causes,
          [&](const json::object& alternative, const std::string& at) {
            Require(alternative, "name", at, &DnsLabelProblem, causes);
            CheckAsked(alternative, at, causes);
            const std::string_view own = TextAt(alternative, {"name"});
            if (!names.insert(fmt::format("{}/{}", name, own)).second) {
              causes.push_back(DuplicateValue(fmt::format("{}.name", at), own));
            }
          });
}

void CheckNamedRequests(const json::object& object, const std::string& path, const Names& names,
                        std::vector<Cause>& causes) {
  for (const json::value& item : ItemsAt(object, {"requests"})) {
    if (!names.contains(PlainText(&item))) {
      causes.push_back(
          InvalidValue(fmt::format("{}.requests", path), PlainText(&item),
                       "must be the name of a request in the claim or of a request and a "
                       "subrequest, separated by '/'"));
    }
  }
}

void CheckConstraint(const json::object& constraint, const std::string& path,
                     std::vector<Cause>& causes) {
  const std::string_view same = TextAt(constraint, {"matchAttribute"});
  const std::string_view other = TextAt(constraint, {"distinctAttribute"});
  if (same.empty() == other.empty()) {
    causes.push_back(RequiredValue(path, "exactly one of the attributes is required"));
    return;
  }
  const std::string_view name = same.empty() ? other : same;
  if (name.find('/') == std::string_view::npos || QualifiedNameProblem(name)) {
    causes.push_back(InvalidValue(path, name, "must be a fully qualified name with a domain"));
  }
}

Names CheckClaimSpec(const json::object& spec, const std::string& at, std::vector<Cause>& causes) {
  Names names;
  const json::object* found = ObjectAt(spec, {"devices"});
  if (found == nullptr) {
    return names;
  }
  const std::string path = fmt::format("{}.devices", at);
  ForEach(*found, "requests", path, kMaxEntries, causes,
          [&](const json::object& request, const std::string& place) {
            CheckRequest(request, place, names, causes);
          });
  ForEach(*found, "constraints", path, kMaxEntries, causes,
          [&](const json::object& constraint, const std::string& place) {
            CheckNamedRequests(constraint, place, names, causes);
            CheckConstraint(constraint, place, causes);
          });
  ForEach(*found, "config", path, kMaxEntries, causes,
          [&](const json::object& config, const std::string& place) {
            CheckNamedRequests(config, place, names, causes);
            CheckOpaque(config, place, causes);
          });
  return names;
}

using DeviceKey = std::tuple<std::string, std::string, std::string, std::string>;

DeviceKey KeyOf(const json::object& device) {
  const auto text = [&](const char* field) { return std::string(TextAt(device, {field})); };
  return {text("driver"), text("pool"), text("device"), text("shareID")};
}

void CheckStatus(const json::object& claim, const json::object* before, const Names& names,
                 std::vector<Cause>& causes) {
  const json::object none;
  const json::object* found = ObjectAt(claim, {"status"});
  const json::object& status = found == nullptr ? none : *found;
  const json::object* allocation = ObjectAt(status, {"allocation"});
  std::set<DeviceKey> allocated;
  if (allocation != nullptr) {
    const json::object* devices = ObjectAt(*allocation, {"devices"});
    ForEach(devices == nullptr ? none : *devices, "results", "status.allocation.devices",
            kMaxEntries, causes, [&](const json::object& result, const std::string& place) {
              allocated.insert(KeyOf(result));
              if (!names.contains(std::string(TextAt(result, {"request"})))) {
                causes.push_back(InvalidValue(fmt::format("{}.request", place),
                                              TextAt(result, {"request"}),
                                              "must be the name of a request in the claim"));
              }
            });
    if (before != nullptr && ObjectAt(*before, {"status", "allocation"}) != nullptr) {
      CheckUnchanged(claim, *before, "status.allocation", causes);
    }
  }
  const json::array& users = ItemsAt(status, {"reservedFor"});
  if (users.size() > 256) {
    causes.push_back(TooMany("status.reservedFor", users.size(), 256));
  }
  if (!users.empty() && allocation == nullptr) {
    causes.push_back(
        ForbiddenChange("status.reservedFor", "may not be specified when `allocated` is not set"));
  }
  ForEach(status, "devices", "status", SIZE_MAX, causes,
          [&](const json::object& device, const std::string& place) {
            if (!allocated.contains(KeyOf(device))) {
              causes.push_back(InvalidValue(place, json::serialize(device),
                                            "must be an allocated device in the claim"));
            }
            ForEach(device, "conditions", place, 8, causes, [](const auto&, const auto&) {});
          });
}

}  // namespace

void ValidateDeviceClass(const json::object& device_class, std::vector<Cause>& causes) {
  const json::object none;
  const json::object* found = ObjectAt(device_class, {"spec"});
  const json::object& spec = found == nullptr ? none : *found;
  CheckSelectors(spec, "spec", causes);
  ForEach(spec, "config", "spec", kMaxEntries, causes,
          [&](const json::object& config, const std::string& place) {
            CheckOpaque(config, place, causes);
          });
  const std::string_view name = TextAt(spec, {"extendedResourceName"});
  const bool is_native = name.find('/') == std::string_view::npos ||
                         name.find("kubernetes.io/") != std::string_view::npos;
  if (!name.empty() && (is_native || LabelKeyProblem(name))) {
    causes.push_back(
        InvalidValue("spec.extendedResourceName", name, "must be a valid extended resource name"));
  }
}

void ValidateResourceClaim(const json::object& claim, const json::object* before,
                           std::vector<Cause>& causes) {
  const json::object none;
  const json::object* spec = ObjectAt(claim, {"spec"});
  const Names names = CheckClaimSpec(spec == nullptr ? none : *spec, "spec", causes);
  if (before != nullptr) {
    CheckUnchanged(claim, *before, "spec", causes);
  }
  CheckStatus(claim, before, names, causes);
}

void ValidateClaimTemplate(const json::object& claim_template, const json::object* before,
                           std::vector<Cause>& causes) {
  const json::object none;
  const json::object* spec = ObjectAt(claim_template, {"spec", "spec"});
  CheckClaimSpec(spec == nullptr ? none : *spec, "spec.spec", causes);
  if (before != nullptr) {
    CheckUnchanged(claim_template, *before, "spec", causes);
  }
}

}  // namespace kgpu::apiserver
