// Which API path an object of a kind has: a table of the kinds that we use, discovery for others.
#pragma once

#include <boost/json/fwd.hpp>

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/kube/api/resource.h"
#include "src/kube/objects/blocking_client.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

// Names an object for people and for paths.
struct ObjectRef {
  std::string api_version{};  // "apps/v1"
  std::string kind{};
  std::string space{};  // namespace; empty for kinds without
  std::string name{};
  auto operator<=>(const ObjectRef&) const = default;
};

ObjectRef RefOf(const boost::json::value& object);
// "DaemonSet kgpu/kgpu-agent".
std::string TextOf(const ObjectRef& ref);
// "apps" of "apps/v1"; empty for the core group.
std::string_view GroupOf(std::string_view api_version);
std::string_view VersionPartOf(std::string_view api_version);

struct Kind {
  std::string group{};  // empty: the core group
  std::string version{};
  std::string plural{};
  std::string kind{};
  bool is_namespaced = true;
  bool is_listed = true;  // its objects can be listed and deleted
  bool operator==(const Kind&) const = default;

  Resource resource() const { return {group, version, plural}; }
  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
};

// The order in which objects are created; the reverse is that of deletion. Namespaces and
// definitions come first, workloads last, kinds that we do not know before workloads.
int OrderOf(const ObjectRef& ref);
inline constexpr int kWorkloadOrder = 10;
// Sorts by OrderOf; within one order they stay as they are.
void SortForApply(std::vector<boost::json::value>& objects);

// `client` must outlive it.
class Kinds {
 public:
  explicit Kinds(BlockingClient& client) : client_(client) {}

  // Errors: NotFound (the cluster does not serve the kind; says how to fix it); those of Send.
  StatusOr<Kind> Find(const std::string& api_version, const std::string& kind);
  // The path of an object. Errors: as Find; InvalidArgument (a namespace is missing or too much).
  StatusOr<std::string> PathOf(const ObjectRef& ref);
  // Learns the kind of a CustomResourceDefinition that is being applied.
  void Learn(const boost::json::value& definition);
  // Every kind that the cluster serves now, in its preferred version, without subresources. A group
  // whose server is down is left out. Errors: those of Send.
  StatusOr<std::vector<Kind>> All();

 private:
  StatusOr<std::vector<Kind>> Discover(const std::string& api_version);

  BlockingClient& client_;
  std::map<std::pair<std::string, std::string>, Kind> known_;  // by apiVersion and kind
};

}  // namespace kgpu::kube
