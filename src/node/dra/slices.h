// The ResourceSlices of a node: a pure function of its devices. Limits of Kubernetes 1.36: 64
// devices in a slice where one has a taint or consumes counters, 8 counter sets in a slice of their
// own.
#pragma once

#include <boost/json/object.hpp>

#include <span>
#include <string>
#include <vector>

#include "src/node/dra/offer.h"

namespace kgpu::dra {

// Where the slices belong.
struct NodeIdentity {
  std::string name{};
  std::string uid{};  // of the Node object, which owns the slices
};

// The specs of all slices of the node's pool, without its generation and their number. All devices
// of one GPU are in one slice, so that a change of its health is one write. Without devices: one
// empty slice, which says that the driver runs. Each is below the limits whatever its taints.
std::vector<boost::json::object> SliceSpecs(const NodeIdentity& node,
                                            std::span<const CardOffer> cards);

}  // namespace kgpu::dra
