#include "testing/apiserver/counters.h"

#include <boost/json.hpp>

namespace kgpu::apiserver {
namespace {

bool IsOf(std::string_view resource, std::string_view wanted) {
  return wanted.empty() || resource == wanted ||
         (resource.starts_with(wanted) && resource.substr(wanted.size()).starts_with('/'));
}

}  // namespace

Count Counters::Sum(std::string_view verb, std::string_view resource,
                    std::string_view user_agent) const {
  Count sum;
  for (const auto& [key, count] : counts_) {
    if ((!verb.empty() && key.verb != verb) || !IsOf(key.resource, resource) ||
        (!user_agent.empty() && key.user_agent != user_agent)) {
      continue;
    }
    sum.requests += count.requests;
    sum.changes += count.changes;
    sum.no_ops += count.no_ops;
    sum.refused += count.refused;
    sum.bytes_in += count.bytes_in;
    sum.bytes_out += count.bytes_out;
  }
  return sum;
}

boost::json::array Counters::ToJson() const {
  boost::json::array list;
  for (const auto& [key, count] : counts_) {
    list.push_back({{"verb", key.verb},
                    {"resource", key.resource},
                    {"userAgent", key.user_agent},
                    {"requests", count.requests},
                    {"changes", count.changes},
                    {"noOps", count.no_ops},
                    {"refused", count.refused},
                    {"bytesIn", count.bytes_in},
                    {"bytesOut", count.bytes_out}});
  }
  return list;
}

}  // namespace kgpu::apiserver
