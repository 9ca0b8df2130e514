// SoakNode as the scheduler, as a client that borrows GPUs, and as the owner of pods.
#include <algorithm>
#include <utility>

#include "testing/allocator/allocator.h"
#include "tests/soak/lists.h"
#include "tests/soak/node.h"

namespace kgpu::soak {

namespace json = boost::json;

namespace {

constexpr char kClass[] = R"({"metadata": {"name": "gpu.nvidia.com"}, "spec": {"selectors": [
    {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}})";
constexpr char kMpsConfig[] = R"(,"config":[{"requests":["gpu"],"opaque":{
    "driver":"gpu.nvidia.com","parameters":{"apiVersion":"resource.nvidia.com/v1beta1",
    "kind":"GpuConfig","sharing":{"strategy":"MPS","mpsConfig":{
    "defaultActiveThreadPercentage":50}}}}}])";

}  // namespace

std::vector<json::value> SoakNode::ListOf(const char* path) const {
  const auto list = doc::Parse(Ask("GET", path, ""), doc::Format::kJson, path);
  const json::array items = list.ok() ? ListAt(*list, "items") : json::array();
  return {items.begin(), items.end()};
}

void SoakNode::DoWorkload(const Action& action) {
  const std::string& name = action.arguments.at(0);
  if (action.verb == "pod") {
    StartPod(name, action.arguments.at(1), std::stol(action.arguments.at(2)));
  } else if (action.verb == "mig") {
    StartPod(name, "nvidia.com/mig-" + action.arguments.at(1), 1);
  } else if (action.verb == "claim") {
    StartClaim(name, action.arguments.at(1));
  } else if (action.verb == "lend") {
    Lend(name, action.arguments.size() > 1);
  } else if (action.verb == "return") {
    Return(name);
  } else {
    (void)kubelet_->RemovePod(name, action.verb == "force");
  }
}

void SoakNode::StartPod(const std::string& name, const std::string& resource, int64_t count) {
  kubelet::PodSpec pod = kubelet::SimplePod(name, resource, count);
  pod.waits_for_resources = true;
  EXPECT_OK(kubelet_->AddPod(pod));
}

Unit SoakNode::UnitOfDevice(const std::string& device) const {
  const size_t number = device.find_first_of("0123456789");
  const size_t gpu = number == std::string::npos ? 0 : static_cast<size_t>(device[number] - '0');
  const bool is_whole = device.size() == number + 1;
  return {.gpu = gpus_.at(gpu), .kind = is_whole ? "" : "claimed " + device};
}

// As its owner does: what it waits for will not come.
void SoakNode::DeleteHopelessPods(bool serves_no_claims) {
  for (const kubelet::Pod& pod : kubelet_->Pods()) {
    const auto& events = pod.status.events;
    if (!pod.is_terminating && claims_held_.contains(pod.spec.name) && !events.empty() &&
        pod.status.phase != kubelet::PodPhase::kRunning &&
        (events.back().message.find("delete the pod") != std::string::npos ||
         (serves_no_claims &&
          events.back().message.find("is not registered") != std::string::npos))) {
      (void)kubelet_->RemovePod(pod.spec.name);
    }
  }
}

// As the scheduler does. A claim that finds no devices now is withdrawn.
void SoakNode::StartClaim(const std::string& name, const std::string& part) {
  if (is_api_ill_) {
    return;
  }
  const std::string capacity =
      part == "whole" || part == "mps"
          ? std::string()
          : fmt::format(R"(,"capacity":{{"requests":{{"memory":"{}"}}}})", part);
  const auto made =
      doc::Parse(Ask("POST", kClaimsPath,
                     fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
              "metadata":{{"name":"{}","namespace":"default"}},"spec":{{"devices":{{"requests":[
              {{"name":"gpu","exactly":{{"deviceClassName":"gpu.nvidia.com"{}}}}}]{}}}}}}})",
                                 name, capacity, part == "mps" ? kMpsConfig : "")),
                 doc::Format::kJson, "claim");
  ASSERT_OK(made);
  auto allocation = allocator::Allocate(*made,
                                        {.classes = {*doc::Parse(kClass, doc::Format::kJson, "")},
                                         .slices = ListOf(kSlicesPath),
                                         .claims = ListOf(kClaimsPath)},
                                        "n1");
  if (!allocation.ok()) {
    Ask("DELETE", fmt::format("{}/{}", kClaimsPath, name), "");
    return;
  }
  Units units;
  for (const json::value& result : ListAt(allocation->at("devices"), "results")) {
    units.insert(UnitOfDevice(FieldOf(result, "device")));
  }
  json::object claim = made->as_object();
  claim["status"] = {
      {"allocation", *std::move(allocation)},
      {"reservedFor", json::array{{{"resource", "pods"}, {"name", name}, {"uid", name}}}}};
  claims_.Put(name,
              Ask("PUT", fmt::format("{}/{}/status", kClaimsPath, name), json::serialize(claim)));
  claims_held_[name] = std::move(units);
  if (part == "mps") {
    claims_by_mps_.insert(name);
  }
  kubelet::PodSpec pod{.name = name, .uid = name};
  pod.claims = {{.name = "gpu", .claim = name}};
  pod.containers = {{.name = "main", .claim_references = {{.claim = "gpu"}}}};
  EXPECT_OK(kubelet_->AddPod(pod));
}

void SoakNode::Lend(const std::string& holder, bool is_slice) {
  const auto response = http::Fetch(
      At("run/agent.sock"), {.method = "POST",
                             .target = "/v1/loans",
                             .body = fmt::format(R"({{"holder": "fn/{}", "count": 1{}}})", holder,
                                                 is_slice ? R"(, "memory": 10737418240)" : "")});
  if (!response.ok() || response->code >= 300) {
    return;  // nothing to lend now
  }
  const auto answer = doc::Parse(response->body, doc::Format::kJson, "loan");
  ASSERT_OK(answer);
  Loan loan{.id = FieldOf(*answer, "id"), .units = {}};
  for (const json::value& slice : ListAt(*answer, "slices")) {
    loan.units.insert(
        {.gpu = FieldOf(slice, "device"), .kind = "lent slices", .part = FieldOf(slice, "slot")});
  }
  if (loan.units.empty()) {
    for (const json::value& uuid : ListAt(*answer, "uuids")) {
      loan.units.insert({.gpu = std::string(uuid.as_string())});
    }
  }
  loans_[holder] = std::move(loan);
}

void SoakNode::Return(const std::string& holder) {
  const auto loan = loans_.find(holder);
  if (loan != loans_.end()) {
    returned_.insert(loan->second.id);
    loans_.erase(loan);
    ReturnAgain();
  }
}

void SoakNode::ReturnAgain() {
  std::erase_if(returned_, [this](const std::string& id) {
    const auto response =
        http::Fetch(At("run/agent.sock"), {.method = "DELETE", .target = "/v1/loans/" + id});
    return response.ok() && response->code == 204;
  });
}

Units SoakNode::UnitsOf(const kubelet::ContainerStatus& container) const {
  const bool is_by_mps = container.options.envs.contains("CUDA_MPS_PIPE_DIRECTORY");
  Units units;
  for (const auto& [resource, ids] : container.devices) {
    for (const std::string& id : ids) {
      if (id.starts_with("MIG-")) {
        units.insert({.gpu = gpus_.at(2), .kind = "MIG", .part = id});
      } else if (const size_t end = id.find("::"); end != std::string::npos) {
        units.insert({.gpu = id.substr(0, end),
                      .kind = resource + std::string(is_by_mps ? kByMps : ""),
                      .part = id});
      } else {
        units.insert({.gpu = id});
      }
    }
  }
  return units;
}

std::map<std::string, Units> SoakNode::Held() const {
  std::map<std::string, Units> held;
  for (const kubelet::Pod& pod : kubelet_->Pods()) {
    if (pod.is_terminal() || pod.status.containers.empty()) {
      continue;
    }
    const kubelet::ContainerStatus& container = pod.status.containers[0];
    const auto claim = claims_held_.find(pod.spec.name);
    const bool has_claim =
        claim != claims_held_.end() && container.state == kubelet::ContainerState::kRunning;
    if (Units units = has_claim ? claim->second : UnitsOf(container); !units.empty()) {
      held[pod.spec.name] = std::move(units);
    }
  }
  for (const auto& [holder, loan] : loans_) {
    held["loan " + loan.id] = loan.units;
  }
  return held;
}

std::vector<std::string> SoakNode::TakeRefused() {
  std::vector<std::string> refused;
  for (const kubelet::Pod& pod : kubelet_->Pods()) {
    if (pod.is_terminal()) {
      refused.push_back(
          fmt::format("{}: {}: {}", pod.spec.name, pod.status.reason, pod.status.message));
      (void)kubelet_->RemovePod(pod.spec.name);
      ++refused_;
    }
  }
  return refused;
}

void SoakNode::ActForCluster(const json::value& status) {
  ReturnAgain();
  if (may_refuse_) {
    (void)TakeRefused();  // a call that a fault held up may fail after its repair
  }
  DeleteHopelessPods(std::ranges::none_of(
      ListAt(status, "resources"),
      [](const json::value& resource) { return FieldOf(resource, "socket").empty(); }));
  for (auto claim = claims_held_.begin(); claim != claims_held_.end();) {
    if (kubelet_->FindPod(claim->first)) {
      ++claim;
      continue;
    }
    Ask("DELETE", fmt::format("{}/{}", kClaimsPath, claim->first), "");
    claims_.Remove(claim->first);
    claims_by_mps_.erase(claim->first);
    claim = claims_held_.erase(claim);
  }
  for (const json::value& resource : ListAt(status, "resources")) {
    counted_.insert(FieldOf(resource, "name"));
  }
  json::object capacity;
  json::object allocatable;
  for (const std::string& name : counted_) {
    const auto count = [](int64_t n) {
      return n < 0 ? json::value() : json::value(std::to_string(n));
    };
    capacity[name] = count(kubelet_->Capacity(name));
    allocatable[name] = count(kubelet_->Allocatable(name));
  }
  Merge("/api/v1/nodes/n1/status",
        json::serialize(
            json::object{{"status", {{"capacity", capacity}, {"allocatable", allocatable}}}}));
}

std::vector<std::string> SoakNode::PublishedUuids() const {
  std::vector<std::string> uuids;
  for (const json::value& slice : ListOf(kSlicesPath)) {
    for (const json::value& device : ListAt(slice.at("spec"), "devices")) {
      uuids.push_back(TextAt(device, {"attributes", "uuid", "string"}));
    }
  }
  std::ranges::sort(uuids);
  return uuids;
}

}  // namespace kgpu::soak
