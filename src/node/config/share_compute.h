// How the slots of a device share its time.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>

namespace kgpu::config {

class Node;

// What part of a device's time each slot has while others use the device, too.
struct ComputeShare {
  enum class Kind : uint8_t {
    kNone,          // containers take turns as the driver lets them
    kPercent,       // `percent` for each slot
    kProportional,  // its part of the device's usable memory
  };
  Kind kind = Kind::kNone;
  unsigned percent = 0;  // 1 to 100
  bool is_set() const { return kind != Kind::kNone; }
  bool operator==(const ComputeShare&) const = default;
};

// 25, or proportional. Reports errors at the field.
ComputeShare ReadComputeShare(const Node& field);
// The value that ReadComputeShare reads back; null if none is set.
boost::json::value ComputeShareTree(const ComputeShare& share);

}  // namespace kgpu::config
