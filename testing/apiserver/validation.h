// What a server checks before it keeps an object: types of fields, names, labels, and rules of some
// kinds. Wrong labels, taints or events are noticed here as a real server notices them.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {

// Whether each field has the type its schema says. Errors: a Failure of code 400.
Status CheckTypes(const boost::json::object& object, const Resource& resource);
// Paths of fields that the schema does not have: ".spec.fo".
std::vector<std::string> UnknownFields(const boost::json::object& object, const Resource& resource);

// `before` is null for a new object.
std::vector<Cause> Validate(const Resource& resource, const boost::json::object& object,
                            const boost::json::object* before);

// Custom resources: takes away what the schema does not declare, fills defaults in, and checks.
void PruneAndDefault(boost::json::object& object, const Schema& schema);
std::vector<Cause> ValidateBySchema(const boost::json::object& object, const Schema& schema);

// The rules of kinds; each adds what it finds.
void ValidateNode(const boost::json::object& node, std::vector<Cause>& causes);
void ValidatePod(const boost::json::object& pod, const boost::json::object* before,
                 std::vector<Cause>& causes);
void ValidateLease(const boost::json::object& lease, std::vector<Cause>& causes);
// In the form of events.k8s.io/v1.
void ValidateNewEvent(const boost::json::object& event, const boost::json::object* before,
                      std::vector<Cause>& causes);
void ValidateDefinition(const boost::json::object& crd, std::vector<Cause>& causes);

}  // namespace kgpu::apiserver
