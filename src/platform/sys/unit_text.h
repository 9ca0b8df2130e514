// Texts of systemd's units.
#pragma once

#include <string>
#include <vector>

namespace kgpu::sys {

// A unit that goes on with something at the next boot, when the network is there.
struct BootUnit {
  std::string remark;  // who wrote it, and when it goes
  std::string description;
  std::string after;      // another unit that comes first; empty: none
  std::string condition;  // path without which there is nothing to go on with
  std::string unless{};   // path of another unit that goes on with it; empty: none does
  std::vector<std::string> command;
};
std::string Print(const BootUnit& unit);

}  // namespace kgpu::sys
