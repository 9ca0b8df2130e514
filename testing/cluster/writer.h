// The writes of one controller, as the field manager it has on a real cluster.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "testing/apiserver/api.h"

namespace kgpu::simcluster {

// A path of one object: "/apis/apps/v1/namespaces/ns/daemonsets/name". `group_version`: "v1",
// "apps/v1".
std::string PathOf(std::string_view group_version, std::string_view plural,
                   const apiserver::ObjectKey& key);

// An object that is gone, or was replaced meanwhile, is no problem: the controller sees the change.
// `problems` receives all other refusals; a test expects none.
class Writer {
 public:
  Writer(apiserver::Api& api, std::string manager, std::vector<std::string>& problems)
      : api_(api), manager_(std::move(manager)), problems_(problems) {}

  // False: refused.
  bool Create(std::string_view collection, const boost::json::object& object);
  bool Patch(std::string_view path, const boost::json::object& merge_patch);
  // Patches the status if that changes it.
  void PatchStatus(const std::string& path, const boost::json::object& now,
                   const boost::json::object& status);
  // Only the object of that uid. `now`: without the time that a pod has to stop.
  void Delete(std::string_view path, std::string_view uid, bool now = false);
  void DeletePod(const boost::json::object& pod, bool now = false);

 private:
  bool Do(std::string_view method, std::string_view target, const boost::json::value& body);

  apiserver::Api& api_;
  std::string manager_;
  std::vector<std::string>& problems_;
};

// `conditions` with one of the same type replaced or added; its lastTransitionTime stays if the
// status stays.
boost::json::array WithCondition(const boost::json::array& conditions,
                                 boost::json::object condition, const std::string& now);

// A pod as its controller creates it from `owner`'s template, without node.
boost::json::object PodFromTemplate(const boost::json::object& owner, std::string_view api_version,
                                    std::string_view kind);
// A short text that changes with `template_spec`.
std::string HashOf(const boost::json::value& template_spec);

}  // namespace kgpu::simcluster
