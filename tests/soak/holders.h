// The holders of devices, as seen from outside of the agent: the rules that no fault may break.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kgpu::soak {

// A device or a part of one. A whole GPU excludes every part of it, and parts of one kind exclude
// those of another: a GPU is shared in one way at a time.
struct Unit {
  std::string gpu;     // the card
  std::string kind{};  // empty: the whole card; else the resource or kind of its parts
  std::string part{};  // "GPU-…::1", "MIG-…"; empty: as many as fit, which others count
  auto operator<=>(const Unit&) const = default;
};

using Units = std::set<Unit>;

// The devices of each pod, claim or loan, from its beginning to its end.
class Holders {
 public:
  // `held` is all that is held now, by holder. Returns what is wrong, or "": a unit with two
  // holders, or a holder whose units are not those of before. A holder that is missing has ended.
  std::string Check(std::map<std::string, Units> held);

  size_t seen() const { return seen_; }  // holders so far

 private:
  static std::string FindDouble(const std::map<std::string, Units>& held);

  std::map<std::string, Units> before_;
  size_t seen_ = 0;
};

}  // namespace kgpu::soak
