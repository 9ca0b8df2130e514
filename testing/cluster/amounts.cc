#include "testing/cluster/amounts.h"

#include <boost/json.hpp>

#include <algorithm>

#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/quantity.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::ItemsAt;
using apiserver::ObjectAt;

Amounts ContainerRequests(const json::value& container) {
  if (!container.is_object()) {
    return {};
  }
  Amounts requests = ReadAmounts(ObjectAt(container.get_object(), {"resources", "requests"}));
  for (const auto& [name, amount] :
       ReadAmounts(ObjectAt(container.get_object(), {"resources", "limits"}))) {
    requests.emplace(name, amount);
  }
  return requests;
}

}  // namespace

int64_t AmountOf(const Amounts& amounts, std::string_view resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

void AddTo(Amounts& sum, const Amounts& more, int64_t sign) {
  for (const auto& [name, amount] : more) {
    sum[name] += sign * amount;
  }
}

Amounts ReadAmounts(const json::object* quantities) {
  Amounts amounts;
  if (quantities != nullptr) {
    for (const auto& [key, value] : *quantities) {
      amounts.emplace(std::string(key.data(), key.size()),
                      apiserver::MilliOf(apiserver::PlainText(&value)).value_or(0));
    }
  }
  return amounts;
}

Amounts RequestsOf(const json::object& pod) {
  Amounts sum;
  for (const json::value& container : ItemsAt(pod, {"spec", "containers"})) {
    AddTo(sum, ContainerRequests(container));
  }
  for (const json::value& container : ItemsAt(pod, {"spec", "initContainers"})) {
    for (const auto& [name, amount] : ContainerRequests(container)) {
      sum[name] = std::max(sum[name], amount);
    }
  }
  return sum;
}

}  // namespace kgpu::simcluster
