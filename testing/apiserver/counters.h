// Counts requests and writes, so that tests can say "0 writes an hour".
#pragma once

#include <boost/json/fwd.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kgpu::apiserver {

struct CounterKey {
  std::string verb{};        // "get", "list", "watch", "create", "update", "patch", "apply", …
  std::string resource{};    // "nodes", "nodes/status", "leases.coordination.k8s.io"; "" for others
  std::string user_agent{};  // up to its first "/"
  auto operator<=>(const CounterKey&) const = default;
};

struct Count {
  uint64_t requests = 0;
  uint64_t changes = 0;    // writes that changed something
  uint64_t no_ops = 0;     // writes that found nothing to change
  uint64_t refused = 0;    // answered with 400 or more
  uint64_t bytes_in = 0;   // of bodies and targets
  uint64_t bytes_out = 0;  // of bodies, watches' events included
};

class Counters {
 public:
  Count& For(const CounterKey& key) { return counts_[key]; }
  // Sums all keys that match; "" matches everything, a resource also matches its subresources.
  Count Sum(std::string_view verb = "", std::string_view resource = "",
            std::string_view user_agent = "") const;
  const std::map<CounterKey, Count>& all() const { return counts_; }
  void Reset() { counts_.clear(); }
  boost::json::array ToJson() const;

 private:
  std::map<CounterKey, Count> counts_;
};

}  // namespace kgpu::apiserver
