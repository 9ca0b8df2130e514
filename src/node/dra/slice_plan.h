// The writes that bring the API server to the wanted ResourceSlices: a pure function. Consumers
// use the slices of a pool's highest generation, and only once they see as many as the slices say.
// So a change of one slice is one write that keeps the generation; a change of several begins a new
// generation, and until its last write the pool has no devices for new pods.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/node/dra/slices.h"
#include "src/platform/base/clock.h"

namespace kgpu::dra {

// All slices that this node should have, by name.
struct WantedSlices {
  NodeIdentity node{};
  std::map<std::string, boost::json::object> specs{};  // as SliceSpecs makes them
};

// Names begin with the slice's number, since the scheduler tries slices in the order of their
// names: "00000-gpu.nvidia.com-n1".
WantedSlices NameSlices(const NodeIdentity& node, std::vector<boost::json::object> specs);

struct SliceWrite {
  std::string name{};
  std::string uid{};  // of a slice to delete, else empty
  boost::json::object object{};
  bool is_delete() const { return !uid.empty(); }
};

// A server without one of the gates drops fields: `taken` has the specs as it stored them, by the
// text of what was sent. They count as equal.
using TakenSpecs = std::map<std::string, std::string>;

// A spec as text, without what counts or dates it: pool generation, number of slices, timeAdded.
std::string ContentOf(const boost::json::object& spec);

// The next write; nothing: all slices are as they should be. Call it again with the result of each.
// `existing` are the driver's slices of this node, by name; `now` dates new taints.
std::optional<SliceWrite> NextWrite(const WantedSlices& wanted,
                                    const std::map<std::string, boost::json::value>& existing,
                                    const TakenSpecs& taken, WallTime now);

}  // namespace kgpu::dra
