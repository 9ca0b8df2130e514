// What the stored roles and bindings allow, as a real server decides it, and which of their rules
// were ever needed.
#pragma once

#include <boost/json/fwd.hpp>

#include <set>
#include <string>
#include <vector>

#include "testing/apiserver/access.h"
#include "testing/apiserver/route.h"
#include "testing/apiserver/store.h"

namespace kgpu::apiserver {

// What somebody wants to do.
struct AccessRequest {
  std::string verb{};
  std::string group{};
  std::string resource{};  // "nodes/status"; "": `path` is asked for
  std::string name{};
  std::string name_space{};
  std::string path{};
};

AccessRequest AccessRequestOf(const Route& route);
// The `spec` of a SubjectAccessReview.
AccessRequest AccessRequestOfReview(const boost::json::object& spec);

// Loop thread only. `store` outlives it.
class Rbac {
 public:
  explicit Rbac(const Store& store) : store_(store) {}

  // Members of system:masters may do everything.
  bool Allows(const User& user, const AccessRequest& request);
  // A Failure of code 403 if it is not allowed. Remembers it.
  Status Check(const User& user, const AccessRequest& request);

  // "allowed": what rules allowed; "denied"; "unused": what rules would allow but nobody asked for.
  // Each is a list of lines such as "ClusterRole/kgpu-agent patch nodes/status".
  boost::json::object ToJson() const;
  void Forget();

 private:
  struct Rules;
  std::vector<Rules> RulesOf(const User& user, const std::string& name_space) const;

  const Store& store_;
  std::set<std::string> allowed_;
  std::set<std::string> denied_;
};

}  // namespace kgpu::apiserver
