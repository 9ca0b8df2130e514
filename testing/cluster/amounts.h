// What pods request and nodes have, by resource. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace kgpu::simcluster {

// In thousandths.
using Amounts = std::map<std::string, int64_t, std::less<>>;

int64_t AmountOf(const Amounts& amounts, std::string_view resource);
// `sign` -1 subtracts.
void AddTo(Amounts& sum, const Amounts& more, int64_t sign = 1);

// A map of quantities: "status.allocatable", "resources.requests". Invalid ones count as 0.
Amounts ReadAmounts(const boost::json::object* quantities);
// What the scheduler reserves for a pod: its containers together, or its largest init container.
// A limit without a request is a request.
Amounts RequestsOf(const boost::json::object& pod);

}  // namespace kgpu::simcluster
