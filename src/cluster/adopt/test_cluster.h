// Objects of clusters with the software that kgpu replaces, with the names, labels, images and
// fields that its charts and manifests give them.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/adopt/world.h"

namespace kgpu::adopt {

// Parses JSON that a test has written.
boost::json::value Json(std::string_view text);

// What differs between DaemonSets in these tests.
struct SetText {
  std::string space = "kube-system";
  std::string name{};
  std::string container{};
  std::string image{};
  std::string metadata{};  // more of it: R"(,"labels":{…})"
  std::string more{};      // of the container: R"(,"env":[…])"
  std::string pod_spec{};  // more of the pod's spec: R"(,"volumes":[…])"
};
boost::json::value DaemonSet(const SetText& text);

// The plugin's static manifest, and as an operand of the GPU operator.
boost::json::value StaticPlugin();
boost::json::value OperandPlugin(const std::string& env = "", const std::string& pod_spec = "");
boost::json::value OperandOf(std::string_view component, std::string_view container,
                             std::string_view image);
boost::json::value OperatorDeployment();
boost::json::value PlainExporter(const std::string& env = "", const std::string& args = "",
                                 const std::string& volumes = "");
boost::json::value NfdWorker();

// A node with eight GPUs.
SeenNode GpuNode(std::string name, std::map<std::string, std::string> labels = {});
SeenPod PodOf(const std::string& node, const Workload& workload);
SeenPod GpuPod(const std::string& node, const std::string& name);

// A cluster whose every workload runs on every node.
World WorldOf(const std::vector<boost::json::value>& daemon_sets, std::vector<SeenNode> nodes);

}  // namespace kgpu::adopt
