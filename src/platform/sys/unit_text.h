// Texts of systemd units.
#pragma once

#include <string>
#include <vector>

namespace kgpu::sys {

// A unit that continues something at the next boot, once the network is up.
struct BootUnit {
  std::string remark;  // who wrote it, and when it is removed
  std::string description;
  std::string after;      // another unit that runs first; empty: none
  std::string condition;  // path that must exist, else there is nothing to continue
  std::string unless{};   // path of another unit that continues it instead; empty: none
  std::vector<std::string> command;
};
std::string Print(const BootUnit& unit);

}  // namespace kgpu::sys
