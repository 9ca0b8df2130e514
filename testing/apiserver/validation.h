// The checks before an object is stored: field types, names, labels, and rules of some kinds. Finds
// the same wrong labels, taints and events as a real server.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {

// Whether each field has the type in its schema. Errors: a Failure of code 400.
Status CheckTypes(const boost::json::object& object, const Resource& resource);
// Paths of fields that the schema does not have: ".spec.fo".
std::vector<std::string> UnknownFields(const boost::json::object& object, const Resource& resource);

// `before` is null for a new object.
std::vector<Cause> Validate(const Resource& resource, const boost::json::object& object,
                            const boost::json::object* before);

// Fills in the defaults that the schema has for fields that are left out.
void AddDefaults(boost::json::object& object, const Schema& schema);
// Custom resources: removes what the schema does not declare, fills in defaults, and checks.
void PruneAndDefault(boost::json::object& object, const Schema& schema);
std::vector<Cause> ValidateBySchema(const boost::json::object& object, const Schema& schema);

// The rules for each kind; each appends its findings.
void ValidateNode(const boost::json::object& node, std::vector<Cause>& causes);
void ValidatePod(const boost::json::object& pod, const boost::json::object* before,
                 std::vector<Cause>& causes);
// Also that it may change as it does.
void ValidateJob(const boost::json::object& job, const boost::json::object* before,
                 std::vector<Cause>& causes);
void ValidateLease(const boost::json::object& lease, std::vector<Cause>& causes);
void ValidateResourceSlice(const boost::json::object& slice, const boost::json::object* before,
                           std::vector<Cause>& causes);
void ValidateDeviceClass(const boost::json::object& device_class, std::vector<Cause>& causes);
// Also that its status names devices that it has.
void ValidateResourceClaim(const boost::json::object& claim, const boost::json::object* before,
                           std::vector<Cause>& causes);
void ValidateClaimTemplate(const boost::json::object& claim_template,
                           const boost::json::object* before, std::vector<Cause>& causes);
// In the form of events.k8s.io/v1.
void ValidateNewEvent(const boost::json::object& event, const boost::json::object* before,
                      std::vector<Cause>& causes);
void ValidateDefinition(const boost::json::object& crd, std::vector<Cause>& causes);

// Refuses another value of a field that must stay: "spec.nodeName".
void CheckUnchanged(const boost::json::object& after, const boost::json::object& before,
                    std::string_view path, std::vector<Cause>& causes);

}  // namespace kgpu::apiserver
