#include "src/diagnose/claim/claim_spec.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include <utility>

#include "src/diagnose/explain/readers.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::claim {
namespace {

namespace json = boost::json;
// Source: resource.k8s.io, DeviceRequestsMaxSize.
constexpr size_t kMaxRequests = 32;

using explain::Flag;
using explain::ForEach;
using explain::Text;

// The list at `selectors`, compiled.
StatusOr<std::vector<Selector>> ReadSelectors(const json::value& object, explain::Path path,
                                              const std::string& owner) {
  std::vector<Selector> selectors;
  Status problem;
  ForEach(object, path, [&](const json::value& item) {
    const std::string_view text = kube::TextField(item, {"cel", "expression"});
    auto program = cel::Program::Compile(text);
    if (program.ok()) {
      selectors.push_back({.owner = owner, .program = *std::move(program)});
    } else {
      problem.Update(
          Annotate(program.status(), "selector of {}, \"{}\"", owner, Printable(text, 300)));
    }
  });
  RETURN_IF_ERROR(problem);
  return selectors;
}

StatusOr<Request> ReadRequest(const json::value& object, std::string name, const Classes& classes) {
  Request request{.name = std::move(name),
                  .device_class = Text(object, {"deviceClassName"}),
                  .count = kube::IntField(object, {"count"}).value_or(1),
                  .wants_all = Text(object, {"allocationMode"}) == "All",
                  .is_admin = Flag(object, {"adminAccess"}),
                  .tolerations = explain::ReadTolerations(object, {"tolerations"})};
  std::vector<std::string> wrong;
  request.capacity = explain::ReadAmounts(object, {"capacity", "requests"}, &wrong);
  if (request.device_class.empty() || !wrong.empty()) {
    return Unimplemented("request {}: kgpu does not know this kind of request", request.name);
  }
  const auto found = classes.find(request.device_class);
  if (found == classes.end()) {
    return NotFound("request {}: DeviceClass {} not found", request.name, request.device_class);
  }
  ASSIGN_OR_RETURN(request.class_selectors,
                   ReadSelectors(*found->second, {"spec", "selectors"},
                                 fmt::format("class {}", request.device_class)));
  ASSIGN_OR_RETURN(request.selectors,
                   ReadSelectors(object, {"selectors"}, fmt::format("request {}", request.name)));
  return request;
}

StatusOr<std::vector<Request>> ReadAlternatives(const json::value& item, const Classes& classes) {
  const std::string name = Text(item, {"name"});
  std::vector<Request> alternatives;
  Status problem;
  const auto add = [&](const json::value& object, std::string full_name) {
    auto request = ReadRequest(object, std::move(full_name), classes);
    if (request.ok()) {
      alternatives.push_back(*std::move(request));
    } else {
      problem.Update(request.status());
    }
  };
  if (kube::FindField(item, {"firstAvailable"}) != nullptr) {
    ForEach(item, {"firstAvailable"}, [&](const json::value& object) {
      add(object, fmt::format("{}/{}", name, Text(object, {"name"})));
    });
  } else {
    // Newer servers nest what one request wants; older ones do not.
    const json::value* exactly = kube::FindField(item, {"exactly"});
    add(exactly == nullptr ? item : *exactly, name);
  }
  RETURN_IF_ERROR(problem);
  return alternatives;
}

}  // namespace

std::string Request::Title() const {
  return fmt::format("{} of {}", wants_all ? "all" : fmt::format("{}", count), device_class);
}

StatusOr<ClaimSpec> ReadClaimSpec(const json::value& claim, const Classes& classes) {
  ClaimSpec spec;
  Status problem;
  ForEach(claim, {"spec", "devices", "requests"}, [&](const json::value& item) {
    auto alternatives = ReadAlternatives(item, classes);
    if (alternatives.ok()) {
      spec.requests.push_back(*std::move(alternatives));
    } else {
      problem.Update(alternatives.status());
    }
  });
  ForEach(claim, {"spec", "devices", "constraints"}, [&](const json::value& item) {
    const std::string distinct = Text(item, {"distinctAttribute"});
    spec.constraints.push_back({.requests = explain::TextList(item, {"requests"}),
                                .attribute = Text(item, {"matchAttribute"}) + distinct,
                                .is_distinct = !distinct.empty()});
    if (spec.constraints.back().attribute.empty()) {
      problem.Update(
          Unimplemented("kgpu does not know the kind of constraint {}", spec.constraints.size()));
    }
  });
  RETURN_IF_ERROR(problem);
  if (spec.requests.size() > kMaxRequests) {
    return Unimplemented("{} requests, limit {}", spec.requests.size(), kMaxRequests);
  }
  return spec;
}

Holdings HoldingsOf(const std::vector<const json::value*>& claims) {
  Holdings holdings;
  for (const json::value* claim : claims) {
    ForEach(*claim, {"status", "allocation", "devices", "results"}, [&](const json::value& item) {
      if (Flag(item, {"adminAccess"})) {
        return;
      }
      holdings[{Text(item, {"driver"}), Text(item, {"pool"}), Text(item, {"device"})}].push_back(
          {.claim = fmt::format("{}/{}", kube::NamespaceOf(*claim), kube::NameOf(*claim)),
           .is_share = !Text(item, {"shareID"}).empty() ||
                       kube::FindField(item, {"consumedCapacity"}) != nullptr,
           .consumed = explain::ReadAmounts(item, {"consumedCapacity"})});
    });
  }
  return holdings;
}

}  // namespace kgpu::claim
