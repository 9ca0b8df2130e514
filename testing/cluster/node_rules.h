// The scheduler's rules about a node's labels and taints. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>

namespace kgpu::simcluster {

// spec.nodeSelector and the required node affinity of a pod, or of a pod template.
bool MatchesNode(const boost::json::object& pod, const boost::json::object& node);
// The sum of the weights of the preferred terms that match.
int64_t PreferenceOf(const boost::json::object& pod, const boost::json::object& node);
// The first taint with an effect that keeps pods away and that the pod does not tolerate; null:
// none. Without `with_no_schedule`: only those that also evict (NoExecute).
const boost::json::object* UntoleratedTaint(const boost::json::object& pod,
                                            const boost::json::object& node,
                                            bool with_no_schedule = true);
bool Tolerates(const boost::json::object& pod, const boost::json::object& taint);

}  // namespace kgpu::simcluster
